#include "cli/keys/text.h"

#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

namespace semel::cli {
namespace {

std::string text_of(const boost::json::object& object, std::string_view member) {
  const boost::json::value* const value = object.if_contains(member);
  if (value == nullptr) return {};
  if (value->is_string()) return std::string(value->get_string());
  if (value->is_int64()) return std::to_string(value->get_int64());
  if (value->is_uint64()) return std::to_string(value->get_uint64());
  return {};
}

std::string_view advice(std::string_view state) {
  if (state == "running") return "an attempt is under way";
  if (state == "done") return "the stored answer is replayed";
  if (state == "unknown") return "nobody knows whether it took effect: resolve it as done or as not-done";
  return "free: the next request with the key runs";
}

}  // namespace

std::string key_text(const boost::json::object& key) {
  const std::string state = text_of(key, "state");
  std::string text = fmt::format("key        {}\nstate      {} ({})\nfence      {}\nnamespace  {}\nscope      {}\n",
                                 text_of(key, "id"), state, advice(state), text_of(key, "fence"),
                                 text_of(key, "namespace"), text_of(key, "scope"));
  text += fmt::format("claimed    {}\nexpires    {}\nrequest    {}\n", text_of(key, "claimed_at"),
                      text_of(key, "expires_at"), text_of(key, "fingerprint"));
  if (state == "running") text += fmt::format("lease      {} ms left\n", text_of(key, "lease_left_ms"));
  const boost::json::value* const response = key.if_contains("response");
  if (response == nullptr || !response->is_object()) return text;
  const boost::json::object& head = response->get_object();
  text += fmt::format("answer     {}, {} bytes\n", text_of(head, "status"), text_of(head, "body_bytes"));
  const boost::json::value* const fields = head.if_contains("fields");
  if (fields == nullptr || !fields->is_array()) return text;
  for (const boost::json::value& field : fields->get_array()) {
    if (!field.is_object()) continue;
    text +=
        fmt::format("           {}: {}\n", text_of(field.get_object(), "name"), text_of(field.get_object(), "value"));
  }
  return text;
}

std::string key_line(const boost::json::object& key) {
  return fmt::format("{}  {:8}  fence {:<3} claimed {}  {}\n", text_of(key, "id"), text_of(key, "state"),
                     text_of(key, "fence"), text_of(key, "claimed_at"), text_of(key, "namespace"));
}

std::string audit_line(const boost::json::object& entry) {
  return fmt::format("{:>6}  {}\n", text_of(entry, "number"), text_of(entry, "entry"));
}

}  // namespace semel::cli
