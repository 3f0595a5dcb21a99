// docs/providers.md is a promise: what it says that a stranger can do with a captured delivery, he can, and what it
// does not say, he cannot. That nothing else makes a new event is tampering_test.cc.
#include "webhook/provider_table.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/ascii.h"
#include "core/public_key.h"
#include "policy/expression.h"
#include "webhook/captured.h"
#include "webhook/coverage.h"
#include "webhook/deliveries.h"
#include "webhook/outcome.h"
#include "webhook/provider.h"

namespace semel::webhook {
namespace {

using test::Captured;
using test::Outcome;
using test::outcome_of;
using test::Sent;

struct Taken {
  Captured captured;
  Outcome outcome;
  SignatureScheme scheme;
};

// Deliveries that are taken as they are.
std::vector<Taken> taken() {
  std::vector<Taken> all;
  for (Captured& each : test::captured_deliveries(1)) {
    Outcome outcome = outcome_of(each, each.request);
    if (!outcome.refused.empty()) continue;
    const SignatureScheme scheme = each.provider.schemes[outcome.scheme];
    all.push_back({std::move(each), std::move(outcome), scheme});
  }
  return all;
}

// The rows of a provider, one of each table.
std::string rows_of(std::string_view provider) {
  const std::string all = provider_markdown();
  const std::string start = "| `" + std::string(provider) + "` ";
  std::string rows;
  for (std::size_t at = all.find(start); at != std::string::npos; at = all.find(start, at + 1)) {
    rows += all.substr(at, all.find('\n', at) - at + 1);
  }
  return rows;
}

std::string verdict_at(const Taken& each, Millis later) {
  Captured captured = each.captured;
  captured.now += later;
  return outcome_of(captured, captured.request).refused;
}

// *fresh for*: on both sides of the signed time as long as the table says, and no longer. Where no time is signed, a
// delivery is taken years later.
TEST(ProviderTable, SaysHowLongADeliveryIsFresh) {
  constexpr Millis second{1'000};
  constexpr Millis years{3LL * 365 * 86'400'000};
  for (const Taken& each : taken()) {
    const Millis tolerance = each.scheme.tolerance;
    if (each.scheme.algorithm == Algorithm::jwt) {
      EXPECT_EQ(verdict_at(each, Millis{600'000}), "") << each.captured.title;
      EXPECT_EQ(verdict_at(each, Millis{3'600'000}), "not authentic") << each.captured.title;
    } else if (tolerance == Millis{0}) {
      EXPECT_EQ(verdict_at(each, years), "") << each.captured.title;
    } else {
      EXPECT_EQ(verdict_at(each, tolerance), "") << each.captured.title;
      EXPECT_EQ(verdict_at(each, -tolerance), "") << each.captured.title;
      EXPECT_EQ(verdict_at(each, tolerance + second), "not authentic") << each.captured.title;
      EXPECT_EQ(verdict_at(each, -tolerance - second), "not authentic") << each.captured.title;
    }
  }
}

// "nothing" is true only if an event is remembered until its signature does not count any more: that time may be ahead
// of ours when the event first comes.
TEST(ProviderTable, PromisesNothingThatTheMemoryDoesNotHold) {
  for (const ProviderFile& file : builtin_providers()) {
    const Provider provider = test::builtin(file.name);
    for (const SignatureScheme& scheme : provider.schemes) {
      if (provider.event.deduplicate) EXPECT_GE(provider.ttl, 2 * scheme.tolerance) << file.name;
    }
    const bool fresh = std::ranges::all_of(provider.schemes, [](const auto& one) { return one.tolerance > Millis{0}; });
    if (rows_of(file.name).ends_with("| nothing |\n")) EXPECT_TRUE(fresh) << file.name;
  }
}

// Where the table names a header under which a delivery can be handled again, it can; where it names none, it cannot.
TEST(ProviderTable, NamesTheHeadersThatAreBelieved) {
  for (const Taken& each : taken()) {
    if (each.outcome.keys.empty() || each.scheme.algorithm == Algorithm::token) continue;
    for (std::size_t i = 0; i < each.captured.request.fields.size(); ++i) {
      const std::string& name = each.captured.request.fields[i].first;
      Sent other = each.captured.request;
      other.fields[i].second += "1";
      const Outcome outcome = outcome_of(each.captured, other);
      const bool new_event = outcome.refused.empty() && outcome.keys != each.outcome.keys;
      const std::string row = core::to_lower(rows_of(each.captured.provider.name));
      const bool named = row.find("handled again under another") != std::string::npos &&
                         row.rfind("{header:" + core::to_lower(name) + "}") > row.find("handled again under another");
      if (new_event) EXPECT_TRUE(named) << each.captured.title << ": " << name;
      const bool first_id = ids_of(each.captured.provider, each.scheme).front().text == "{header:" + name + "}";
      if (named && first_id) EXPECT_TRUE(new_event) << each.captured.title << ": " << name;
    }
  }
}

// `key_from = "{sha256:body}"` closes that, wherever the body is signed.
TEST(ProviderTable, OffersTheBodyAsAName) {
  const policy::Expression key_from = policy::parse_expression("{sha256:body}", policy::ExpressionUse::event).value();
  std::size_t closed = 0;
  for (const Taken& each : taken()) {
    const bool open = !unsigned_id_parts(each.captured.provider, each.scheme).empty();
    if (!open || !covers(each.scheme, key_from) || each.captured.provider.event.items) continue;
    const Outcome genuine = outcome_of(each.captured, each.captured.request, &key_from);
    for (std::size_t i = 0; i < each.captured.request.fields.size(); ++i) {
      Sent other = each.captured.request;
      other.fields[i].second += "1";
      const Outcome outcome = outcome_of(each.captured, other, &key_from);
      EXPECT_TRUE(!outcome.refused.empty() || outcome.keys == genuine.keys) << each.captured.title;
    }
    ++closed;
  }
  EXPECT_GE(closed, 8U);
}

// Whether a value in the JSON is one that the signature covers by itself.
bool is_signed_value(const Taken& each, const std::string& value) {
  return std::ranges::any_of(each.scheme.signed_text.parts, [&](const policy::Part& part) {
    const auto found = each.captured.values.find(part.text);
    return part.kind == policy::PartKind::json && found != each.captured.values.end() && found->second == value;
  });
}

// "Make up any event": with a token, or a signature of a nonce, another body is another event.
TEST(ProviderTable, SaysWhereAnyEventCanBeMadeUp) {
  for (const Taken& each : taken()) {
    const std::string rows = rows_of(each.captured.provider.name);
    const bool said = rows.find("make up any event") != std::string::npos;
    if (vouches_for_sender_only(each.captured.provider, each.scheme)) {
      EXPECT_TRUE(said) << each.captured.title;
      if (each.captured.values.empty()) continue;
      Sent other = each.captured.request;
      for (std::size_t at = other.body.find("_1\""); at != std::string::npos; at = other.body.find("_1\"", at + 1)) {
        const std::size_t begin = other.body.rfind('"', at) + 1;
        if (!is_signed_value(each, other.body.substr(begin, at + 2 - begin))) other.body[at + 1] = '7';
      }
      for (auto& [name, value] : other.fields) {
        if (value.ends_with("_1")) value.back() = '7';
      }
      const Outcome outcome = outcome_of(each.captured, other);
      EXPECT_EQ(outcome.refused, "") << each.captured.title;
      if (each.captured.title.find("sha256") == std::string::npos) {
        EXPECT_NE(outcome.keys, each.outcome.keys) << each.captured.title;
      }
    } else if (each.captured.provider.schemes.size() == 1) {
      EXPECT_FALSE(said) << each.captured.title;
    }
  }
}

// The method and the query are signed only where the table has {method} or {url}.
TEST(ProviderTable, SaysWhereMethodAndQueryAreSigned) {
  for (const Taken& each : taken()) {
    const policy::Expression& text = each.scheme.signed_text;
    Sent other = each.captured.request;
    other.method = "PUT";
    Outcome outcome = outcome_of(each.captured, other);
    EXPECT_EQ(outcome.refused.empty(), !text.has(policy::PartKind::method)) << each.captured.title;
    other = each.captured.request;
    other.target += "&x=1";
    outcome = outcome_of(each.captured, other);
    EXPECT_EQ(outcome.refused.empty(), !text.has(policy::PartKind::url)) << each.captured.title;
    if (outcome.refused.empty()) EXPECT_EQ(outcome.keys, each.outcome.keys) << each.captured.title;
  }
}

// The body with four other bytes at its end, so that it has this checksum. CRC-32 is linear: which bits each bit of the
// last bytes turns is found out one by one, and the equations are solved.
std::string forged(std::string body, std::uint32_t wanted) {
  body.append(4, '\0');
  const std::uint32_t base = core::crc32(body);
  struct Row {
    std::uint32_t turns;
    std::uint32_t bits;
  };
  std::vector<Row> rows;
  for (unsigned bit = 0; bit < 32; ++bit) {
    std::string one = body;
    one[one.size() - 4 + bit / 8] = static_cast<char>(1U << (bit % 8));
    rows.push_back({core::crc32(one) ^ base, 1U << bit});
  }
  std::uint32_t left = base ^ wanted;
  std::uint32_t bits = 0;
  for (unsigned place = 0; place < 32; ++place) {
    const std::uint32_t mask = 1U << place;
    const auto pivot = std::ranges::find_if(rows, [&](const Row& row) { return (row.turns & mask) != 0; });
    if (pivot == rows.end()) continue;
    const Row used = *pivot;
    rows.erase(pivot);
    for (Row& row : rows) {
      if ((row.turns & mask) != 0) row = {row.turns ^ used.turns, row.bits ^ used.bits};
    }
    if ((left & mask) != 0) {
      left ^= used.turns;
      bits ^= used.bits;
    }
  }
  for (std::size_t i = 0; i < 4; ++i) body[body.size() - 4 + i] = static_cast<char>((bits >> (8 * i)) & 255U);
  return body;
}

// PayPal: another body with the same checksum is believed if it comes first; it is the same event, so it does not come
// twice. AWS SNS: attributes of a message are not signed. Adyen: of an item eight values are. The table says so of
// these, and of Twilio, whose fields can be cut at other places (tests/e2e/webhooks.py).
TEST(ProviderTable, SaysWhatCanBeChangedBeforeItIsHandled) {
  constexpr std::string_view said = "change what is not signed before it is handled";
  std::set<std::string> changed{"twilio"};
  for (const Taken& each : taken()) {
    const std::string& name = each.captured.provider.name;
    Sent other = each.captured.request;
    if (name == "paypal") other.body = forged(R"({"id":"WH-forged"} )", core::crc32(each.captured.request.body));
    if (name == "aws-sns") other.body.insert(1, R"("MessageAttributes":{"forged":{"Type":"String","Value":"1"}},)");
    constexpr std::string_view item = R"("NotificationRequestItem":{)";
    const std::size_t at = name == "adyen" ? other.body.find(item) : std::string::npos;
    if (at != std::string::npos) other.body.insert(at + item.size(), R"("reason":"forged",)");
    if (other.body == each.captured.request.body) continue;
    changed.insert(name);
    const Outcome outcome = outcome_of(each.captured, other);
    EXPECT_EQ(outcome.refused, "") << name;
    EXPECT_EQ(outcome.keys, each.outcome.keys) << name;
  }
  for (const ProviderFile& file : builtin_providers()) {
    const std::string name(file.name);
    EXPECT_EQ(rows_of(name).find(said) != std::string::npos, changed.contains(name)) << name;
  }
}

}  // namespace
}  // namespace semel::webhook
