// What the pages of the inbox have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json/object.hpp>

#include "core/event_id.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::admin {

// The segment of the path behind `above`, decoded. None if there is none, or it cannot be decoded.
std::optional<std::string> segment_in(const policy::RequestView& request, std::string_view above);

// What stands for {id} in `/v1/inbox/{id}…`. None if it is not the id of an event.
std::optional<core::EventId> event_in(const policy::RequestView& request);

// A time as people write it (RFC 3339), to the millisecond.
std::optional<Time> moment_of(std::string_view text);

// Which deliveries the query asks for. Code::invalid: the detail begins with the parameter that is wrong.
Result<store::DeliveryFilter> deliveries_in(const policy::RequestView& request);

// The reason in the body, without which nothing is done.
Result<std::string> reason_in(const boost::json::object& body);

// One delivery, with what its event says.
void write_delivery(core::json::JsonWriter& json, const store::AcceptedEvent& event,
                    const store::DeliveryRecord& delivery);

}  // namespace semel::admin
