// What an event came with, as the inbox keeps it, and as a request again.
//
// The request's own fields are kept, without those that end at this hop, frame the body or hold credentials of the
// sender. What is not a field (method, target, host, address, type, object) is kept beside them under names that no
// field can have.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/field_view.h"
#include "inbox/event_view.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "store/inbox.h"

namespace semel::gateway {

std::shared_ptr<const store::Parcel> pack(const inbox::EventView& event, const policy::Hop& hop);

// The request in a parcel, which must outlive this.
struct Unpacked {
  std::vector<FieldView> fields;
  inbox::EventView event;
  std::string_view host;
  std::string_view scheme;
};
// Not copied: the view of the event refers to the fields.
std::unique_ptr<const Unpacked> unpack(const store::Parcel& parcel);

}  // namespace semel::gateway
