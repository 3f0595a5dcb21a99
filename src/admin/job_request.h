// A job as operators ask for it and as they see it.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/json/object.hpp>

#include "config/config.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "store/inbox_jobs.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::admin {

// Members: `action`, `filter`, `rate`. What is not known is refused, and so is what the action has no use for: no part
// of a filter is ever left out in silence. Events that come from `now` on are not among the job's. Code::invalid: the
// detail begins with the member that is wrong.
Result<store::InboxJob> job_in(const config::Config& config, const boost::json::object& body, Time now);

// What stands for {id} in `/v1/inbox/jobs/{id}`. None if it is no number.
std::optional<std::uint64_t> job_number_in(const policy::RequestView& request);

void write_job_filter(core::json::JsonWriter& json, const store::JobScope& scope);
void write_job(core::json::JsonWriter& json, const store::InboxJob& job);

}  // namespace semel::admin
