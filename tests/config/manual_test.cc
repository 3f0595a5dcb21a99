// conf/semel.toml is the manual; these tests hold it to the code.
#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/ascii.h"
#include "support/places.h"
#include "support/rules.h"

namespace semel::config {
namespace {

constexpr std::string_view example_mark = "# example";

std::vector<std::string> manual_lines() {
  std::ifstream file(test::in_tree("conf/semel.toml"));
  EXPECT_TRUE(file.is_open());
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// `#name = ...`, `#[[table]]`: an option; `# prose`: not one.
bool is_option(std::string_view line) {
  return line.size() > 1 && line[0] == '#' && (core::is_letter(line[1]) || line[1] == '[');
}
bool is_example(std::string_view line) {
  return line.ends_with(example_mark);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The manual with every option switched on.
std::string with_all_options() {
  std::vector<std::string> lines = manual_lines();
  for (std::string& line : lines) {
    if (is_option(line)) line.erase(0, 1);
  }
  return joined(lines);
}

// The same without what only shows an example: those options, and the proxy, the token and the webhook, which have
// examples that they need.
std::string with_all_defaults() {
  std::vector<std::string> lines = manual_lines();
  lines.erase(std::ranges::find(lines, "#[[webhook]]"), lines.end());
  lines.erase(std::ranges::find(lines, "#[[api.token]]"), std::ranges::find(lines, "[store]"));
  lines.erase(std::ranges::find(lines, "#[admin.proxy]"), std::ranges::find(lines, "[api]"));
  for (std::string& line : lines) {
    if (is_option(line)) line = is_example(line) ? std::string() : line.substr(1);
  }
  return joined(lines);
}

// "route" of `[[route]]`, "upstream" of `[upstream.app]`.
std::string table_name(std::string_view line) {
  line.remove_prefix(line.find_first_not_of('['));
  return std::string(line.substr(0, line.find_first_of(".]")));
}

test::FakeResolver resolver() {
  test::FakeResolver made;
  made.variables = {{"SEMEL_VIEW", "v"},
                    {"SEMEL_OPS", "o"},
                    {"SEMEL_ADMIN", "a"},
                    {"SEMEL_PROXY_SECRET", "0123456789abcdef"},
                    {"SEMEL_ADMIN_TOKEN", "t"},
                    {"SEMEL_STORE_KEY", std::string(64, '0')},
                    {"META_VERIFY_TOKEN", "v"},
                    {"PAYPAL_API", "client|s3"},
                    {"SEMEL_JWT_SECRET", std::string(32, 's')},
                    {"HANDLER_SECRET", "h"},
                    {"APP_DATABASE_URL", "postgres://app/shop"},
                    {"PROBE_AUTHORIZATION", "Bearer p"},
                    {"STRIPE_SECRET", "s"},
                    {"APP_REPLICA_URL", "postgres://reader@127.0.0.1/app"},
                    {"STRIPE_SECRET_OLD", "o"},
                    {"SEMEL_API_TOKEN", "0123456789abcdef"}};
  return made;
}

bool is_nothing(std::string_view value) {
  return value.empty() || value == "\"\"" || value == "[]" || value == "{}";
}

// As it is shipped the manual is a configuration without a fault, and one to start with.
TEST(Manual, IsAConfigurationAsItIs) {
  const std::string text = joined(manual_lines());
  EXPECT_EQ(test::issues(text, reading::Severity::error), std::vector<std::string>{});
  EXPECT_EQ(test::issues(text, reading::Severity::warning), std::vector<std::string>{});
}

// Nothing in it is made up: with every option switched on, all of it is known and right. On Redis, because its options
// are refused elsewhere; only an outbox is refused there.
TEST(Manual, HasNoOptionThatTheCodeDoesNotKnow) {
  std::string text = with_all_options();
  constexpr std::string_view url = "url = \"embedded:./semel-data\"";
  ASSERT_NE(text.find(url), text.npos);
  text.replace(text.find(url), url.size(), "url = \"redis://127.0.0.1\"");
  const auto parsed = parse_config(text, "semel.toml", resolver());
  if (!parsed) {
    for (const reading::Issue& issue : parsed.error()) {
      const std::string told = reading::to_text(issue);
      if (issue.severity == reading::Severity::error && !told.contains("[[outbox]] needs")) ADD_FAILURE() << told;
    }
  }
}

// Nothing is left out: whatever the reader asks for stands in the manual.
TEST(Manual, HasEveryOptionThatTheCodeKnows) {
  const std::vector<reading::KeyUse> uses = survey_config(with_all_options(), resolver());
  EXPECT_GT(uses.size(), 70U);
  for (const reading::KeyUse& use : uses) EXPECT_TRUE(use.present) << use.table << "." << use.key;
}

// Every default that it shows is the code's, and what has no default is shown by an example.
TEST(Manual, ShowsTheDefaultsOfTheCode) {
  std::set<std::string> examples;
  std::string table;
  for (const std::string& line : manual_lines()) {
    const std::string_view text = std::string_view(line).substr(is_option(line) ? 1 : 0);
    if (text.starts_with('[')) table = table_name(text);
    if (is_example(line)) examples.insert(table + "." + std::string(text.substr(0, text.find(' '))));
  }
  for (const reading::KeyUse& use : survey_config(with_all_options(), resolver())) {
    const std::string name = use.table.substr(0, use.table.find('.')) + "." + use.key;
    const bool inside = use.table == "server.tls" || use.table == "server.cors" || use.table == "api.tls" ||
                        use.table == "admin.tokens" || use.table == "webhook.deliver" || use.table == "audit.page";
    if (inside) continue;  // stands inside the example of that
    if (is_nothing(use.default_value)) {
      const bool required =
          name == "upstream.url" || name == "route.path" || name == "route.upstream" || name == "admin.proxy";
      EXPECT_TRUE(examples.contains(name) || required) << name << " has no default, so it needs an example";
    } else {
      EXPECT_EQ(use.value, use.default_value) << name;
      EXPECT_FALSE(examples.contains(name)) << name << " has a default";
    }
  }
}

// Switching on a default changes nothing.
TEST(Manual, IsTheSameWithItsDefaultsSwitchedOn) {
  const auto as_it_is = survey_config(joined(manual_lines()), resolver());
  const auto switched_on = survey_config(with_all_defaults(), resolver());
  ASSERT_EQ(as_it_is.size(), switched_on.size());
  for (std::size_t i = 0; i < as_it_is.size(); ++i) {
    EXPECT_EQ(as_it_is[i].value, switched_on[i].value) << as_it_is[i].table << "." << as_it_is[i].key;
  }
}

// What docs/configuration.md shows as a whole configuration is one.
TEST(Manual, IsQuotedRightInTheGuide) {
  std::ifstream file(test::in_tree("docs/configuration.md"));
  ASSERT_TRUE(file.is_open());
  std::string text;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line == "```toml" || line == "```") inside = line == "```toml";
    if (inside && !line.starts_with("```")) text += line + "\n";
  }
  EXPECT_EQ(test::config(text).routes.size(), 1U);
  EXPECT_EQ(test::issues(text, reading::Severity::warning), std::vector<std::string>{});
}

// It is for people: mostly explanation, no line wider than a page.
TEST(Manual, IsMostlyExplanation) {
  const std::vector<std::string> lines = manual_lines();
  std::size_t prose = 0;
  std::size_t options = 0;
  for (const std::string& line : lines) {
    EXPECT_LE(line.size(), 120U) << line;
    if (line.starts_with("# ")) ++prose;
    if (is_option(line) || (!line.empty() && line[0] != '#')) ++options;
  }
  EXPECT_GT(prose, options);
}

}  // namespace
}  // namespace semel::config
