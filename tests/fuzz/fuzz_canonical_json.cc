// Fuzzes the canonicaliser, beside two other readers of JSON.
//
// The slow reference has the same rules, so the two agree on which documents have a canonical form, what it means, and
// what is left of it when members are ignored. Boost.JSON has rules of its own where the standard leaves a choice: it
// takes duplicate names, and numbers beyond Semel's bound; its own bound on exponents is another. Everywhere else it
// must agree on what is JSON.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <boost/json/basic_parser_impl.hpp>

#include "core/check.h"
#include "core/json/canonical.h"
#include "support/json_reference.h"
#include <semel/fingerprint.h>

namespace {

namespace json = boost::json;
using semel::core::check;

// Notes whether a document has what Boost.JSON takes and Semel does not.
struct Handler {
  static constexpr std::size_t max_object_size = std::size_t(-1);
  static constexpr std::size_t max_array_size = std::size_t(-1);
  static constexpr std::size_t max_key_size = std::size_t(-1);
  static constexpr std::size_t max_string_size = std::size_t(-1);
  using Error = json::error_code;
  using Text = json::string_view;

  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_array_begin(Error&) { return true; }
  bool on_array_end(std::size_t, Error&) { return true; }
  bool on_object_begin(Error&) {
    names.emplace_back();
    return true;
  }
  bool on_object_end(std::size_t, Error&) {
    names.pop_back();
    return true;
  }
  bool on_string_part(Text, std::size_t, Error&) { return true; }
  bool on_string(Text, std::size_t, Error&) { return true; }
  bool on_key_part(Text part, std::size_t, Error&) {
    name += part;
    return true;
  }
  bool on_key(Text part, std::size_t, Error&) {
    odd |= !names.back().insert(name + std::string(part)).second;
    name.clear();
    return true;
  }
  bool on_number_part(Text part, Error&) {
    number += part;
    return true;
  }
  bool on_number(Text part) {
    odd |= !semel::test::reference_json(number + std::string(part)).has_value();
    number.clear();
    return true;
  }
  bool on_int64(std::int64_t, Text part, Error&) { return on_number(part); }
  bool on_uint64(std::uint64_t, Text part, Error&) { return on_number(part); }
  bool on_double(double, Text part, Error&) { return on_number(part); }
  bool on_bool(bool, Error&) { return true; }
  bool on_null(Error&) { return true; }
  bool on_comment_part(Text, Error&) { return true; }
  bool on_comment(Text, Error&) { return true; }

  std::vector<std::set<std::string>> names;
  std::string name;
  std::string number;
  bool odd = false;
};

void check_boost(std::string_view body, bool canonical) {
  json::parse_options options;
  options.max_depth = semel::core::json::json_depth_max;
  json::basic_parser<Handler> parser(options);
  json::error_code error;
  const std::size_t read = parser.write_some(false, body.data(), body.size(), error);
  const bool valid = !error && read == body.size();
  if (canonical) check(valid || error == json::error::exponent_overflow, "Boost.JSON reads what has a canonical form");
  if (valid) check(canonical || parser.handler().odd, "what Boost.JSON reads has a canonical form");
}

const semel::IgnoreList& ignored() {
  static const semel::IgnoreList list = *semel::IgnoreList::parse(
      {"/a", "/b/a", "/0", "/1/0", "/2/a", "/", "/c//a", "/\"", "/\\n", "/a b/1/1/1", "/d/d/d/d", "/10"});
  return list;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const std::optional<std::string> canonical = semel::core::json::canonical_json(body);
  const std::optional<semel::test::Json> reference = semel::test::reference_json(body);
  check(canonical.has_value() == reference.has_value(), "the reference takes the same documents");
  check_boost(body, canonical.has_value());

  const std::optional<std::string> rest = semel::core::json::canonical_json(body, ignored());
  check(rest.has_value() == canonical.has_value(), "ignoring members makes nothing valid or invalid");
  if (!canonical) return 0;
  check(semel::test::reference_json(*canonical) == reference, "the canonical form means what the document means");
  check(semel::core::json::canonical_json(*canonical) == canonical, "the canonical form is its own");
  check(semel::test::reference_json(*rest) == semel::test::without(*reference, ignored().paths()),
        "what is ignored is left out, and nothing else");
  return 0;
}
