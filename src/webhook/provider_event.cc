// [event] of a provider's file: what names an event, and what tells which of two is newer.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "core/stamp.h"
#include "policy/expression.h"
#include "reading/document.h"
#include "reading/fault.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "webhook/provider.h"
#include "webhook/provider_sections.h"
#include <semel/fingerprint.h>

namespace semel::webhook {
namespace {

constexpr std::array order_choices{reading::Choice<core::OrderForm>{"number", core::OrderForm::number},
                                   reading::Choice<core::OrderForm>{"rfc3339", core::OrderForm::rfc3339},
                                   reading::Choice<core::OrderForm>{"text", core::OrderForm::text}};
// At some provider these are counted up, or made again, for every attempt.
constexpr std::array attempt_fields{"x-slack-retry-num",
                                    "x-attempt-number",
                                    "x-atlassian-webhook-retry",
                                    "x-wc-webhook-delivery-id",
                                    "paypal-transmission-time",
                                    "x-amzn-trace-id",
                                    "x-request-start",
                                    "traceparent",
                                    "date",
                                    "x-gitlab-event-uuid",
                                    "x-zm-trackingid"};

bool same_source(const policy::Part& part, const std::optional<policy::Expression>& source) {
  return source && source->parts.size() == 1 && part.kind == source->parts.front().kind &&
         core::equal_ignoring_case(part.text, source->parts.front().text);
}

bool is_unstable(const policy::Part& part, const std::vector<SignatureScheme>& schemes) {
  const auto signs_with = [&](const SignatureScheme& scheme) {
    return scheme.algorithm != Algorithm::token &&
           (same_source(part, scheme.from) || same_source(part, scheme.timestamp));
  };
  if (part.kind == policy::PartKind::literal) return false;
  if (std::ranges::any_of(schemes, signs_with)) return true;
  return part.kind == policy::PartKind::header &&
         std::ranges::find(attempt_fields, core::to_lower(part.text)) != attempt_fields.end();
}

void read_items(reading::TableReader& table, std::optional<std::vector<std::string>>& into) {
  std::string text;
  reading::read_text(table, "items", text);
  if (!table.has("items")) return;
  into.emplace();
  if (text.empty()) return;  // the body itself is the array
  const auto pointers = IgnoreList::parse({text});
  if (!pointers) {
    table.reject("items", table.at("items"), fmt::format("items: \"{}\" is not a JSON pointer (RFC 6901)", text));
    return;
  }
  into = pointers->paths().front();
}

void read_ignore(reading::TableReader& table, IgnoreList& into) {
  std::vector<std::string> pointers;
  reading::read_list(table, "ignore", pointers, [](const std::string& text) -> reading::Parsed<void> {
    if (IgnoreList::parse({text})) return {};
    return reading::fault(fmt::format("\"{}\" is not a JSON pointer (RFC 6901) to a member", text));
  });
  auto list = IgnoreList::parse(pointers);
  if (list) into = *std::move(list);
}

}  // namespace

std::optional<std::string> unstable_part(const policy::Expression& key, const std::vector<SignatureScheme>& schemes) {
  const auto found =
      std::ranges::find_if(key.parts, [&](const policy::Part& part) { return is_unstable(part, schemes); });
  return found == key.parts.end() ? std::nullopt : std::optional(policy::part_text(*found));
}

void read_ids(reading::TableReader& table, const std::vector<SignatureScheme>& schemes,
              std::vector<policy::Expression>& into) {
  const reading::Node* const value = table.require("id");
  for (const reading::Node* item : reading::one_or_more(table, "id", value)) {
    auto parsed = policy::parse_expression(item->text, policy::ExpressionUse::event);
    if (!parsed) {
      table.reject("id", *item, parsed.error());
      continue;
    }
    const bool says_nothing = std::ranges::all_of(parsed->parts, [](const policy::Part& part) {
      return part.kind == policy::PartKind::literal || part.optional;
    });
    if (says_nothing) {
      table.reject("id", item->at, "id names no part that must be present, so all events would count as one");
      continue;
    }
    if (const auto part = unstable_part(*parsed, schemes)) {
      table.reading().report.warning(
          item->at, fmt::format("id has {}, which changes with each attempt: every retry would look new", *part));
    }
    into.push_back(*std::move(parsed));
  }
}

void read_event(reading::Reading& reading, const reading::Node* node, Provider& provider) {
  if (node == nullptr) {
    reading.report.error({}, "a provider needs [event]: what names an event");
    return;
  }
  EventRules& event = provider.event;
  reading::TableReader table(reading, node, "event");
  reading::read_flag(table, "deduplicate", event.deduplicate);
  const bool named_by_schemes =
      !provider.schemes.empty() &&
      std::ranges::none_of(provider.schemes, [](const auto& scheme) { return scheme.id.empty(); });
  if (table.has("id") || (event.deduplicate && !named_by_schemes)) read_ids(table, provider.schemes, event.id);
  read_expression(table, "type", policy::ExpressionUse::event, event.type);
  read_expression(table, "object", policy::ExpressionUse::event, event.object);
  read_expression(table, "order", policy::ExpressionUse::event, event.order);
  reading::read_choice(table, "order_form", event.order_form, order_choices);
  read_items(table, event.items);
  read_ignore(table, event.ignore);
  if (event.order && !event.object && table.good("object")) {
    table.reject("order", table.at("order"), "order needs `object`: events are in order per object");
  }
  table.finish();
}

}  // namespace semel::webhook
