#include "admin/desk_request.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include "core/encoding.h"
#include "policy/expression.h"
#include "policy/request_view.h"
#include <semel/key.h>

namespace semel::admin {

std::optional<std::string> id_in(const policy::RequestView& request) {
  constexpr std::string_view above = "/v1/keys/";
  if (!request.path.starts_with(above)) return std::nullopt;
  std::string_view text = request.path.substr(above.size());
  text = text.substr(0, text.find('/'));
  std::optional<std::string> bytes = core::from_hex(text);
  if (!bytes || bytes->empty() || bytes->size() > sizeof(Digest)) return std::nullopt;
  return bytes;
}

std::optional<Digest> whole_id(const std::string& bytes) {
  Digest id{};
  if (bytes.size() != id.size()) return std::nullopt;
  std::ranges::copy(bytes, id.begin());
  return id;
}

std::optional<boost::json::object> object_in(const policy::RequestView& request) {
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(request.body, error);
  if (error || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

std::optional<std::string> text_in(const boost::json::object& object, std::string_view member) {
  const boost::json::value* const value = object.if_contains(member);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return std::string(value->get_string());
}

std::optional<std::string> parameter(const policy::RequestView& request, std::string_view name) {
  auto value = policy::evaluate(policy::expression("{query:" + std::string(name) + "}"), request);
  if (!value) return std::nullopt;
  return *std::move(value);
}

}  // namespace semel::admin
