#include "admin/described.h"

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include "config/config.h"
#include "config/match.h"
#include "policy/expression.h"
#include "policy/identify.h"
#include "policy/request_view.h"
#include "policy/route.h"
#include <semel/key.h>
#include <semel/result.h>

namespace semel::admin {
namespace {

// A member that is a string; its text lives as long as the object. Empty if it is not there.
std::string_view member_of(const boost::json::object& asked, std::string_view name) {
  const boost::json::value* const value = asked.if_contains(name);
  return value != nullptr && value->is_string() ? std::string_view(value->get_string()) : std::string_view();
}

Result<void> read_fields(const boost::json::object& asked, Described& into) {
  const boost::json::value* const given = asked.if_contains("fields");
  if (given == nullptr) return {};
  if (!given->is_object()) return fail(Code::invalid, "fields: must be an object of names and values");
  for (const auto& field : given->get_object()) {
    if (!field.value().is_string()) return fail(Code::invalid, "fields: each must be a string");
    into.fields.push_back({.name = field.key(), .value = field.value().get_string()});
  }
  return {};
}

Result<void> find_identity(const policy::Route& route, std::string_view text, Described& into) {
  if (text.empty()) {
    policy::Keyed keyed = policy::find_key(route, into.view);
    auto* const found = std::get_if<policy::KeyOf>(&keyed);
    if (found == nullptr) {
      const auto* const refusal = std::get_if<policy::Refusal>(&keyed);
      return fail(Code::invalid, "key: the text that the customer sent is needed" +
                                     (refusal == nullptr ? std::string() : "; " + refusal->detail));
    }
    into.key = std::move(found->key);
    into.key_text = std::move(found->text);
    return {};
  }
  const auto scope = policy::evaluate(route.scope, into.view);
  if (!scope) return fail(Code::invalid, "fields: the scope of the route needs more; " + scope.error().detail);
  Result<Key> key = make_key(route.space, *scope, text);
  if (!key) return fail(Code::invalid, "key: " + key.error().detail);
  into.key = *std::move(key);
  into.key_text = text;
  return {};
}

}  // namespace

Result<Described> describe(const config::Config& config, const boost::json::object& asked) {
  Described described;
  const std::string_view target = member_of(asked, "route");
  if (target.empty()) return fail(Code::invalid, "route: the path that the request went to is needed");
  const std::string_view method = member_of(asked, "method");
  described.view.method = method.empty() ? "POST" : method;
  policy::set_target(described.view, target);
  described.view.body = member_of(asked, "body");
  if (Result<void> read = read_fields(asked, described); !read) return std::unexpected(std::move(read.error()));
  described.view.fields = described.fields;
  const config::Match matched = config::match(config, described.view.method, described.view.path);
  const auto* guarded = std::get_if<config::Guarded>(&matched);
  if (guarded == nullptr) {
    return fail(Code::invalid,
                "route: no route guards " + std::string(described.view.method) + " " + std::string(target));
  }
  if (Result<void> found = find_identity(*guarded->route, member_of(asked, "key"), described); !found) {
    return std::unexpected(std::move(found.error()));
  }
  return described;
}

}  // namespace semel::admin
