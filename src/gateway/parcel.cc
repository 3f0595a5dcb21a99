#include "gateway/parcel.h"

#include <memory>
#include <string>
#include <string_view>

#include "core/ascii.h"
#include "core/field_view.h"
#include "inbox/event_view.h"
#include "policy/fields.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "store/inbox.h"
#include <semel/response.h>

namespace semel::gateway {
namespace {

constexpr std::string_view method_name = ":method";
constexpr std::string_view target_name = ":target";
constexpr std::string_view host_name = ":host";
constexpr std::string_view scheme_name = ":scheme";
constexpr std::string_view ip_name = ":ip";
constexpr std::string_view type_name = ":type";
constexpr std::string_view object_name = ":object";

bool is_credential(std::string_view name) {
  return core::equal_ignoring_case(name, "Authorization") || core::equal_ignoring_case(name, "Cookie") ||
         core::equal_ignoring_case(name, "Proxy-Authorization");
}

void add(store::Parcel& parcel, std::string_view name, std::string_view value) {
  parcel.fields.push_back({.name = std::string(name), .value = std::string(value)});
}

}  // namespace

std::shared_ptr<const store::Parcel> pack(const inbox::EventView& event, const policy::Hop& hop) {
  auto parcel = std::make_shared<store::Parcel>();
  const policy::RequestView& request = event.request;
  add(*parcel, method_name, request.method);
  add(*parcel, target_name, request.target);
  add(*parcel, host_name, hop.host);
  add(*parcel, scheme_name, hop.scheme);
  add(*parcel, ip_name, request.ip);
  add(*parcel, type_name, event.type);
  add(*parcel, object_name, event.object);
  const policy::ConnectionNames ends_here = policy::named_by_connection(request.fields);
  for (const FieldView& field : request.fields) {
    const bool dropped = policy::is_hop_by_hop(field.name) || policy::is_framing(field.name) ||
                         is_credential(field.name) || policy::contains_name(ends_here, field.name);
    if (!dropped) add(*parcel, field.name, field.value);
  }
  parcel->body = std::string(request.body);
  return parcel;
}

std::unique_ptr<const Unpacked> unpack(const store::Parcel& parcel) {
  auto made = std::make_unique<Unpacked>();
  policy::RequestView& request = made->event.request;
  for (const Field& field : parcel.fields) {
    const std::string_view name = field.name;
    if (!name.starts_with(':')) {
      made->fields.push_back({.name = name, .value = field.value});
      continue;
    }
    if (name == method_name) request.method = field.value;
    if (name == target_name) policy::set_target(request, field.value);
    if (name == host_name) made->host = field.value;
    if (name == scheme_name) made->scheme = field.value;
    if (name == ip_name) request.ip = field.value;
    if (name == type_name) made->event.type = field.value;
    if (name == object_name) made->event.object = field.value;
  }
  request.fields = made->fields;
  request.body = parcel.body;
  return made;
}

}  // namespace semel::gateway
