// Fields of the request under their names; what is no field, under names that begin with a colon.
#include "gateway/parcel.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/ascii.h"
#include "core/encoding.h"
#include "core/field_view.h"
#include "inbox/event_view.h"
#include "policy/fields.h"
#include "policy/forward.h"
#include "policy/request_view.h"
#include "store/inbox.h"
#include <semel/key.h>
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
constexpr std::string_view key_name = ":key";
constexpr std::string_view route_name = ":route";
constexpr std::string_view probe_name = ":probe";

void add(store::Parcel& parcel, std::string_view name, std::string_view value) {
  parcel.fields.push_back({.name = std::string(name), .value = std::string(value)});
}

// The id and the scope of a key, in this order.
std::string text_of(const Key& key) {
  return core::to_hex(key.id) + core::to_hex(key.scope);
}

std::optional<Key> key_in(std::string_view text) {
  const std::optional<std::string> raw = core::from_hex(text);
  Key key;
  if (!raw || raw->size() != key.id.size() + key.scope.size()) return std::nullopt;
  std::memcpy(key.id.data(), raw->data(), key.id.size());
  std::memcpy(key.scope.data(), raw->data() + key.id.size(), key.scope.size());
  return key;
}

}  // namespace

bool is_credential(std::string_view name) {
  return core::equal_ignoring_case(name, "Authorization") || core::equal_ignoring_case(name, "Cookie") ||
         core::equal_ignoring_case(name, "Proxy-Authorization");
}

bool is_from_body(std::string_view name) {
  return name == object_name || name == probe_name;
}

std::shared_ptr<const store::Parcel> pack(const inbox::EventView& event, const policy::Hop& hop, const Packing& how) {
  auto parcel = std::make_shared<store::Parcel>();
  const policy::RequestView& request = event.request;
  constexpr std::size_t own_fields = 10;  // those that begin with a colon
  parcel->fields.reserve(own_fields + request.fields.size());
  add(*parcel, method_name, request.method);
  add(*parcel, target_name, request.target);
  add(*parcel, host_name, hop.host);
  add(*parcel, scheme_name, hop.scheme);
  add(*parcel, ip_name, request.ip);
  add(*parcel, type_name, event.type);
  add(*parcel, object_name, event.object);
  if (how.sender) add(*parcel, key_name, text_of(how.sender->key));
  if (how.sender) add(*parcel, route_name, how.sender->route);
  if (!how.probe.empty()) add(*parcel, probe_name, how.probe);
  const policy::ConnectionNames ends_here = policy::named_by_connection(request.fields);
  for (const FieldView& field : request.fields) {
    const bool dropped = policy::is_hop_by_hop(field.name) || policy::is_framing(field.name) ||
                         (is_credential(field.name) && !how.credentials) ||
                         policy::contains_name(ends_here, field.name);
    if (!dropped) add(*parcel, field.name, field.value);
  }
  parcel->body = std::string(request.body);
  return parcel;
}

std::unique_ptr<const Unpacked> unpack(const store::Parcel& parcel) {
  auto made = std::make_unique<Unpacked>();
  policy::RequestView& request = made->event.request;
  std::optional<Key> key;
  std::string route;
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
    if (name == key_name) key = key_in(field.value);
    if (name == route_name) route = field.value;
    if (name == probe_name) made->probe = field.value;
  }
  if (key) made->sender = Sender{.key = *std::move(key), .route = std::move(route)};
  request.fields = made->fields;
  request.body = parcel.body;
  return made;
}

}  // namespace semel::gateway
