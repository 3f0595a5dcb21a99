// [[audit]], and what it means together with the routes and webhooks of its namespace.
#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "config/audit.h"
#include "config/audit_query.h"
#include "config/config.h"
#include "config/sections.h"
#include "core/ascii.h"
#include "inbox/destination.h"
#include "policy/route.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/nearest.h"
#include "reading/read_values.h"
#include "reading/secret.h"
#include "reading/table_reader.h"
#include "reading/units.h"
#include "webhook/webhook.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::config {
namespace {

constexpr std::size_t name_bytes_max = 64;
constexpr std::array expect_choices{reading::Choice<AuditExpect>{"one", AuditExpect::one},
                                    reading::Choice<AuditExpect>{"at-most-one", AuditExpect::at_most_one}};

void read_name(reading::TableReader& table, const Config& config, std::string& into) {
  const reading::Node* const value = table.require("name");
  if (value != nullptr && table.expect("name", *value, reading::NodeKind::string)) {
    const auto plain = [](char c) { return core::is_letter(c) || core::is_digit(c) || c == '-' || c == '_'; };
    const std::string& text = value->text;
    if (text.empty() || text.size() > name_bytes_max || !std::ranges::all_of(text, plain)) {
      table.reject("name", value->at, "the name of an audit is 1 to 64 letters, digits, - and _");
    } else if (std::ranges::find(config.audits, text, &AuditConfig::name) != config.audits.end()) {
      table.reject("name", value->at, fmt::format("there is another [[audit]] with the name {}", text));
    } else {
      into = text;
    }
  }
  table.record("name", "", reading::toml_string(into));
}

void read_database(reading::TableReader& table, reading::Secret& into) {
  const reading::Node* const value = table.require("database");
  if (value != nullptr) {
    into = reading::resolve(table, "database", *value, reading::Literal::fine).value_or(reading::Secret{});
    const std::string& url = into.reveal();
    const bool known = url.starts_with("postgres://") || url.starts_with("postgresql://");
    if (!url.empty() && !known) {
      table.reject("database", value->at, "database must be the address of a PostgreSQL server: postgres://...");
    }
  }
  table.record("database", "", "[secret]");
}

void read_query(reading::TableReader& table, AuditConfig& audit) {
  const reading::Node* const value = table.require("query");
  if (value != nullptr && table.expect("query", *value, reading::NodeKind::string)) {
    audit.query = value->text;
    audit.query_at = {.at = value->at};
    if (const std::string fault = fault_of_query(audit.query); !fault.empty()) table.reject("query", value->at, fault);
    const std::size_t end = audit.query.find_last_not_of("; \t\r\n");
    audit.query.resize(end == std::string::npos ? 0 : end + 1);
  }
  table.record("query", "", "[query]");
}

void read_page(reading::TableReader& table, const Config& config, std::string& into) {
  const reading::Node* const node = table.find("page");
  table.record("page", "{}", node == nullptr ? "{}" : "{...}");
  if (node == nullptr || !table.expect("page", *node, reading::NodeKind::table)) return;
  reading::TableReader inner(table.reading(), node, "audit.page");
  const reading::Node* const to = inner.require("to");
  inner.record("to", "", to == nullptr ? "" : reading::toml_string(to->text));
  if (to != nullptr && inner.expect("to", *to, reading::NodeKind::string)) {
    std::vector<std::string_view> names;
    names.reserve(config.destinations.size());
    for (const inbox::Destination& each : config.destinations) names.emplace_back(each.name);
    into = to->text;
    if (std::ranges::find(names, to->text) == names.end()) {
      inner.reject("to", to->at, fmt::format("there is no [destination.{}]", to->text),
                   reading::nearest(to->text, names).value_or(std::string_view{}));
    }
  }
  inner.finish();
}

// A key must still be known when the last window looks at its effects.
void check_ttl(reading::TableReader& table, const Config& config, AuditConfig& audit) {
  if (!table.good("overlap") || !table.good("settle")) return;
  const auto look = [&](const std::string& space, Millis ttl) {
    const bool known = std::ranges::find(audit.ttls, ttl) != audit.ttls.end();
    if (space == audit.space && !known) audit.ttls.push_back(ttl);
  };
  for (const policy::Route& route : config.routes) look(route.space, route.target.policy.ttl);
  for (const webhook::Webhook& webhook : config.webhooks) look(webhook.space, webhook.target.policy.ttl);
  if (audit.ttls.empty()) return;
  const Millis shortest = *std::ranges::min_element(audit.ttls);
  if (shortest >= audit.overlap + audit.settle) return;
  table.reading().report.warning(
      table.at("overlap"),
      fmt::format("keys of the namespace {} are forgotten after {} (ttl), before their effects have been looked at for "
                  "the last time (overlap + settle = {}): late effects will be taken for orphans",
                  audit.space, reading::duration_text(shortest), reading::duration_text(audit.overlap + audit.settle)));
}

}  // namespace

void read_audit(reading::Reading& reading, const reading::Node& node, Config& config) {
  reading::TableReader table(reading, &node, "audit");
  AuditConfig audit;
  read_name(table, config, audit.name);
  read_database(table, audit.database);
  read_query(table, audit);
  reading::read_parsed(
      table, "namespace", audit.space,
      [](std::string_view text) -> reading::Parsed<std::string> {
        if (text.empty() || text.size() > space_bytes_max) return reading::fault("a namespace has 1 to 64 bytes");
        return std::string(text);
      },
      [](const std::string& text) { return text; });
  const reading::Range<Millis> span{.min = reading::one_second, .max = 30 * reading::one_day};
  reading::read_duration(table, "every", audit.every, span);
  reading::read_duration(table, "settle", audit.settle, {.min = Millis{0}, .max = reading::one_day});
  reading::read_duration(table, "overlap", audit.overlap, span);
  reading::read_choice(table, "expect", audit.expect, expect_choices);
  read_page(table, config, audit.page_to);
  reading::read_duration(table, "statement_timeout", audit.statement_timeout,
                         {.min = reading::one_second, .max = Millis{3'600'000}});
  reading::read_count(table, "rows_max", audit.rows_max, {.min = 1'000, .max = 20'000'000});
  check_ttl(table, config, audit);
  table.finish();
  config.audits.push_back(std::move(audit));
}

}  // namespace semel::config
