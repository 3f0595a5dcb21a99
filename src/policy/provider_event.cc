// [event] of a provider's file: what names an event, and what tells which of two is the newer one.
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/stamp.h"
#include "policy/ascii.h"
#include "policy/document.h"
#include "policy/expression.h"
#include "policy/fault.h"
#include "policy/provider.h"
#include "policy/provider_sections.h"
#include "policy/read_values.h"
#include "policy/table_reader.h"
#include <semel/fingerprint.h>

namespace semel {
namespace {

constexpr std::array order_choices{Choice<OrderForm>{"number", OrderForm::number},
                                   Choice<OrderForm>{"rfc3339", OrderForm::rfc3339},
                                   Choice<OrderForm>{"text", OrderForm::text}};
// Counted up or made anew with every attempt, at one provider or another.
constexpr std::array attempt_fields{"x-slack-retry-num",
                                    "x-attempt-number",
                                    "x-atlassian-webhook-retry",
                                    "x-wc-webhook-delivery-id",
                                    "paypal-transmission-id",
                                    "paypal-transmission-time",
                                    "x-amzn-trace-id",
                                    "x-request-start",
                                    "traceparent",
                                    "date",
                                    "x-gitlab-event-uuid",
                                    "x-zm-trackingid"};

bool same_source(const Part& part, const std::optional<Expression>& source) {
  return source && source->parts.size() == 1 && part.kind == source->parts.front().kind &&
         equal_ignoring_case(part.text, source->parts.front().text);
}

bool is_unstable(const Part& part, const std::vector<SignatureScheme>& schemes) {
  const auto signs_with = [&](const SignatureScheme& scheme) {
    return scheme.algorithm != Algorithm::token &&
           (same_source(part, scheme.from) || same_source(part, scheme.timestamp));
  };
  if (part.kind == PartKind::literal) return false;
  if (std::ranges::any_of(schemes, signs_with)) return true;
  return part.kind == PartKind::header &&
         std::ranges::find(attempt_fields, to_lower(part.text)) != attempt_fields.end();
}

void read_ids(TableReader& table, const std::vector<SignatureScheme>& schemes, std::vector<Expression>& into) {
  const Node* const value = table.require("id");
  for (const Node* item : one_or_more(table, "id", value)) {
    auto parsed = parse_expression(item->text, ExpressionUse::event);
    if (!parsed) {
      table.reject("id", *item, parsed.error());
      continue;
    }
    const bool says_nothing = std::ranges::all_of(
        parsed->parts, [](const Part& part) { return part.kind == PartKind::literal || part.optional; });
    if (says_nothing) {
      table.reject("id", item->at, "id names nothing that must be there, so all events would be one");
      continue;
    }
    if (const auto part = unstable_part(*parsed, schemes)) {
      table.reading().report.warning(
          item->at, fmt::format("id has {}, which is another one for each attempt: every retry would look new", *part));
    }
    into.push_back(*std::move(parsed));
  }
}

void read_items(TableReader& table, std::optional<std::vector<std::string>>& into) {
  std::string text;
  read_text(table, "items", text);
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

void read_ignore(TableReader& table, IgnoreList& into) {
  std::vector<std::string> pointers;
  read_list(table, "ignore", pointers, [](const std::string& text) -> Parsed<void> {
    if (IgnoreList::parse({text})) return {};
    return fault(fmt::format("\"{}\" is not a JSON pointer (RFC 6901) to a member", text));
  });
  auto list = IgnoreList::parse(pointers);
  if (list) into = *std::move(list);
}

}  // namespace

std::optional<std::string> unstable_part(const Expression& key, const std::vector<SignatureScheme>& schemes) {
  const auto found = std::ranges::find_if(key.parts, [&](const Part& part) { return is_unstable(part, schemes); });
  return found == key.parts.end() ? std::nullopt : std::optional(part_text(*found));
}

void read_event(Reading& reading, const Node* node, Provider& provider) {
  if (node == nullptr) {
    reading.report.error({}, "a provider needs [event]: what names an event");
    return;
  }
  EventRules& event = provider.event;
  TableReader table(reading, node, "event");
  read_flag(table, "deduplicate", event.deduplicate);
  if (event.deduplicate || table.has("id")) read_ids(table, provider.schemes, event.id);
  read_expression(table, "type", ExpressionUse::event, event.type);
  read_expression(table, "object", ExpressionUse::event, event.object);
  read_expression(table, "order", ExpressionUse::event, event.order);
  read_choice(table, "order_form", event.order_form, order_choices);
  read_items(table, event.items);
  read_ignore(table, event.ignore);
  if (event.order && !event.object && table.good("object")) {
    table.reject("order", table.at("order"), "order needs `object`: events are in order per object");
  }
  table.finish();
}

}  // namespace semel
