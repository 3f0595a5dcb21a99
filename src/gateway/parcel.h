// What an event came with, as the inbox keeps it, and as a request again.
//
// The request's own fields are kept, without those that end at this hop, frame the body or hold credentials of the
// sender. What is not a field (method, target, host, address, type, object, sender) is kept beside them under names
// that no field can have.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/field_view.h"
#include "inbox/event_view.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "store/inbox.h"
#include <semel/key.h>

namespace semel::gateway {

// Whether a field of this name says who is asking. Such a field is kept only where the configuration says so, and shown
// to nobody.
bool is_credential(std::string_view name);

// Whether what is kept under this name beside the fields may have been taken from the body.
bool is_from_body(std::string_view name);

// Who sent a request on a route: its key, under which the answer is kept, and the route, by its path.
struct Sender {
  Key key;
  std::string route;
};

struct Packing {
  bool credentials = false;      // Authorization and Cookie are kept, too
  std::optional<Sender> sender;  // none: an event of a provider, which waits for no answer
  std::string probe{};           // the target to ask what became of the request; empty: none, or the destination's
};

std::shared_ptr<const store::Parcel> pack(const inbox::EventView& event, const policy::Hop& hop, const Packing& how);

// The request in a parcel, which must outlive this.
struct Unpacked {
  std::vector<FieldView> fields;
  inbox::EventView event;
  std::string_view host;
  std::string_view scheme;
  std::optional<Sender> sender;
  std::string_view probe;
};
// Not copied: the view of the event refers to the fields.
std::unique_ptr<const Unpacked> unpack(const store::Parcel& parcel);

}  // namespace semel::gateway
