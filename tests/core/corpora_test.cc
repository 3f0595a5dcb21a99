// The canonicaliser and the key reader against public test data: JSONTestSuite, the JSON canonicalisation scheme's own
// pairs, and the structured-field tests.
#include "corpora.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "core/json/canonical.h"
#include "support/json_reference.h"
#include <semel/key.h>
#include <semel/result.h>

namespace semel::core {
namespace {

using test::corpus_path;
using test::has_corpus;
using test::read_file;

// y_ files are JSON and have a canonical form, n_ files are not, i_ files may go either way; nothing crashes. Two y_
// files repeat a name: valid JSON, on which parsers disagree, so Semel gives them no canonical form.
TEST(JsonTestSuite, IsReadAsItsFileNamesSay) {
  if (!has_corpus("json-parsing")) return;
  const std::set<std::string> repeat_a_name = {"y_object_duplicated_key.json",
                                               "y_object_duplicated_key_and_value.json"};
  int files = 0;
  int canonical_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus_path("json-parsing"))) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".json")) continue;
    const std::string body = read_file(entry.path());
    const std::optional<std::string> canonical = json::canonical_json(body);
    if (name.starts_with("y_")) EXPECT_EQ(canonical.has_value(), !repeat_a_name.contains(name)) << name;
    if (name.starts_with("n_")) EXPECT_FALSE(canonical.has_value()) << name;
    // The slow reference recurses only to depth 64, so it can read them all.
    EXPECT_EQ(canonical.has_value(), test::reference_json(body).has_value()) << name;
    if (canonical) {
      EXPECT_EQ(json::canonical_json(*canonical), canonical) << name;
      EXPECT_EQ(test::reference_json(*canonical), test::reference_json(body)) << name;
    }
    ++files;
    canonical_files += canonical ? 1 : 0;
  }
  std::cout << "json-parsing: " << files << " files, " << canonical_files << " with a canonical form\n";
  EXPECT_EQ(files, 318);
}

// The scheme sorts and unescapes as Semel does, but writes numbers as doubles. One of its six pairs has a number that a
// double cannot hold: 333333333.33333329, rounded to 333333333.3333333. Semel must keep those two apart, and must agree
// once the output's number is put back.
TEST(JsonCanonicalization, AgreesButForRoundedNumbers) {
  if (!has_corpus("json-canonical")) return;
  int pairs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus_path("json-canonical/input"))) {
    const std::string name = entry.path().filename();
    const std::optional<std::string> input = json::canonical_json(read_file(entry.path()));
    std::string expected = read_file(corpus_path("json-canonical/output") / name);
    ASSERT_TRUE(input.has_value()) << name;
    if (name == "values.json") {
      EXPECT_NE(input, json::canonical_json(expected));
      const std::string rounded = "333333333.3333333,";
      ASSERT_TRUE(expected.contains(rounded));
      expected.replace(expected.find(rounded), rounded.size(), "333333333.33333329,");
    }
    EXPECT_EQ(input, json::canonical_json(expected)) << name;
    ++pairs;
  }
  std::cout << "json-canonical: " << pairs << " pairs\n";
  EXPECT_EQ(pairs, 6);
}

// Whether Semel takes the value as a bare token, which the structured-field grammar does not know.
bool is_bare_token(std::string_view value) {
  const auto token_byte = [](char c) { return c > ' ' && c <= '~' && !std::string_view("\",;\\").contains(c); };
  const std::size_t first = value.find_first_not_of(' ');
  if (first == std::string_view::npos) return false;
  value = value.substr(first, value.find_last_not_of(' ') - first + 1);
  return std::ranges::all_of(value, token_byte);
}

void check_structured_field(const boost::json::value& test) {
  std::vector<std::string> raw;
  for (const auto& line : test.at("raw").as_array()) raw.emplace_back(line.as_string());
  const std::vector<std::string_view> lines(raw.begin(), raw.end());
  const Result<std::string> text = parse_key_text(lines);
  const std::string name = test::text_at(test, "name");
  if (lines.size() > 1) {  // joined with a comma it may be a string; Semel never joins
    EXPECT_FALSE(text.has_value()) << name;
    return;
  }
  if (is_bare_token(raw.front())) {  // numbers, and 'foo': not strings to the grammar, plain keys to Semel
    EXPECT_TRUE(text.has_value()) << name;
    return;
  }
  if (test.as_object().contains("must_fail")) {
    EXPECT_FALSE(text.has_value()) << name;
    return;
  }
  const std::string expected(test.at("expected").at(0).as_string());
  const bool fits = !expected.empty() && expected.size() <= key_text_bytes_max;
  EXPECT_EQ(text.has_value(), fits) << name;
  if (text) EXPECT_EQ(*text, expected) << name;
}

// A string of the grammar that is not empty and fits is the key; what must fail, fails, unless it is a token that Semel
// takes as it is.
TEST(StructuredFields, AreReadAsKeys) {
  if (!has_corpus("structured-fields")) return;
  int cases = 0;
  for (const std::string_view file : {"structured-fields/string.json", "structured-fields/item.json"}) {
    for (const auto& test : test::corpus_json(file).as_array()) {
      check_structured_field(test);
      ++cases;
    }
  }
  std::cout << "structured-fields: " << cases << " cases\n";
  EXPECT_EQ(cases, 19);
}

}  // namespace
}  // namespace semel::core
