#include "admin/redact.h"

#include <charconv>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>
#include <boost/system/error_code.hpp>

#include <semel/fingerprint.h>

namespace semel::admin {
namespace {

// The value that `token` names in `value`; null if there is none.
boost::json::value* step(boost::json::value& value, const std::string& token) {
  if (auto* const object = value.if_object()) return object->if_contains(token);
  auto* const array = value.if_array();
  if (array == nullptr) return nullptr;
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), index);
  const bool whole = error == std::errc() && end == token.data() + token.size();
  return whole && index < array->size() ? &(*array)[index] : nullptr;
}

bool cover(boost::json::value& root, const std::vector<std::string>& path) {
  boost::json::value* value = &root;
  for (const std::string& token : path) {
    value = step(*value, token);
    if (value == nullptr) return false;
  }
  *value = "[redacted]";
  return true;
}

}  // namespace

std::string redacted(const std::string& body, const IgnoreList& pointers) {
  if (pointers.empty()) return body;
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(body, error);
  if (error) return body;
  bool covered = false;
  for (const std::vector<std::string>& path : pointers.paths()) covered = cover(value, path) || covered;
  return covered ? boost::json::serialize(value) : body;
}

}  // namespace semel::admin
