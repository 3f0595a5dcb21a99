// What the pages of the inbox have in common.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/event_id.h"
#include "core/json/writer.h"
#include "policy/request_view.h"
#include "store/inbox.h"

namespace semel::admin {

// The segment of the path behind `above`, decoded. None if there is none, or it cannot be decoded.
std::optional<std::string> segment_in(const policy::RequestView& request, std::string_view above);

// What stands for {id} in `/v1/inbox/{id}…`. None if it is not the id of an event.
std::optional<core::EventId> event_in(const policy::RequestView& request);

// One delivery, with what its event says.
void write_delivery(core::json::JsonWriter& json, const store::AcceptedEvent& event,
                    const store::DeliveryRecord& delivery);

}  // namespace semel::admin
