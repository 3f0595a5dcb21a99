// Keys and entries of the audit log as lines for people.
#include "cli/keys/text.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <boost/json/array.hpp>
#include <boost/json/error.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>
#include <fmt/format.h>

#include "core/printable.h"
#include "core/utf8.h"

namespace semel::cli {
namespace {

// As it can be printed: others may have chosen it.
std::string text_of(const boost::json::object& object, std::string_view member) {
  const boost::json::value* const value = object.if_contains(member);
  if (value == nullptr) return {};
  if (value->is_string()) return core::printable(std::string_view(value->get_string()));
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

// What a resolver thinks of the key; null if it has not said anything.
const boost::json::object* suggestion_in(const boost::json::object& key) {
  const boost::json::value* const value = key.if_contains("suggestion");
  return value == nullptr ? nullptr : value->if_object();
}

std::string suggested(const boost::json::object& suggestion) {
  const std::string as = text_of(suggestion, "as");
  if (as == "person") return "a person is needed";
  return as == "ask-again" ? "not known yet" : as;
}

// Entries of older versions have a character for each byte of UTF-8. All else is returned as it is.
std::string once_bytes(std::string_view text) {
  std::string bytes;
  for (std::string_view rest = text; !rest.empty();) {
    const auto lead = static_cast<unsigned char>(rest.front());
    const std::size_t size = std::max<std::size_t>(core::utf8_character_size(rest), 1);
    if (lead >= 0xC4) return std::string(text);  // beyond U+00FF
    const unsigned last = static_cast<unsigned char>(rest[size - 1]);
    bytes.push_back(static_cast<char>(size == 1 ? lead : ((lead & 3U) << 6U) | (last & 0x3FU)));
    rest.remove_prefix(size);
  }
  return core::is_utf8(bytes) ? bytes : std::string(text);
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
  if (const boost::json::object* const suggestion = suggestion_in(key)) {
    text += fmt::format("resolver   {}: {}\n           asked {} times, last {} by {}\n", suggested(*suggestion),
                        text_of(*suggestion, "why"), text_of(*suggestion, "asks"), text_of(*suggestion, "asked_at"),
                        text_of(*suggestion, "by"));
  }
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
  const boost::json::object* const suggestion = suggestion_in(key);
  return fmt::format("{}  {:8}  fence {:<3} claimed {}  {}{}\n", text_of(key, "id"), text_of(key, "state"),
                     text_of(key, "fence"), text_of(key, "claimed_at"), text_of(key, "namespace"),
                     suggestion == nullptr ? "" : fmt::format("  resolver: {}", suggested(*suggestion)));
}

std::string audit_line(const boost::json::object& entry) {
  const boost::json::value* const text = entry.if_contains("entry");
  boost::system::error_code error = boost::json::error::incomplete;
  boost::json::value said;
  if (text != nullptr && text->is_string()) said = boost::json::parse(text->get_string(), error);
  if (error) return fmt::format("{:>6}  {}\n", text_of(entry, "number"), text_of(entry, "entry"));
  if (said.is_object()) {
    for (auto& [name, value] : said.get_object()) {
      if (value.is_string()) value = once_bytes(value.get_string());
    }
  }
  return fmt::format("{:>6}  {}\n", text_of(entry, "number"), core::printable(boost::json::serialize(said)));
}

}  // namespace semel::cli
