// [[handshake]] of a provider's file: what it asks before it sends events, and the answer that it expects.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "policy/expression.h"
#include "policy/fields.h"
#include "reading/document.h"
#include "reading/read_values.h"
#include "reading/table_reader.h"
#include "webhook/provider.h"
#include "webhook/provider_sections.h"

namespace semel::webhook {
namespace {

constexpr std::array method_choices{
    reading::Choice<std::string_view>{"POST", "POST"}, reading::Choice<std::string_view>{"GET", "GET"},
    reading::Choice<std::string_view>{"HEAD", "HEAD"}, reading::Choice<std::string_view>{"OPTIONS", "OPTIONS"}};
constexpr std::array letter_choices{reading::Choice<TokenLetters>{"plain", TokenLetters::plain},
                                    reading::Choice<TokenLetters>{"hex", TokenLetters::hex},
                                    reading::Choice<TokenLetters>{"digits", TokenLetters::digits}};
constexpr std::array hmac_choices{reading::Choice<Algorithm>{"sha256", Algorithm::hmac_sha256},
                                  reading::Choice<Algorithm>{"sha1", Algorithm::hmac_sha1}};
constexpr std::array encoding_choices{reading::Choice<Encoding>{"hex", Encoding::hex},
                                      reading::Choice<Encoding>{"base64", Encoding::base64}};

std::optional<policy::Expression> answer_part(reading::TableReader& table, std::string_view key,
                                              const reading::Node& value) {
  auto parsed = policy::parse_expression(value.text, policy::ExpressionUse::handshake);
  if (!parsed) {
    table.reject(key, value, parsed.error());
    return std::nullopt;
  }
  return *std::move(parsed);
}

void read_json_answer(reading::TableReader& table, Handshake& handshake) {
  const reading::Node* const value = table.find("json");
  if (value == nullptr || !table.expect("json", *value, reading::NodeKind::table)) return;
  for (const reading::Node& member : value->children) {
    if (member.kind == reading::NodeKind::integer) {
      handshake.json.emplace_back(member.name, member.integer);
    } else if (table.expect("json", member, reading::NodeKind::string)) {
      if (auto text = answer_part(table, "json", member)) handshake.json.emplace_back(member.name, *std::move(text));
    }
  }
}

void read_answer_fields(reading::TableReader& table, Handshake& handshake) {
  const reading::Node* const value = table.find("fields");
  if (value == nullptr || !table.expect("fields", *value, reading::NodeKind::table)) return;
  for (const reading::Node& member : value->children) {
    if (!policy::is_field_name(member.name)) {
      table.reject("fields", member.name_at, fmt::format("\"{}\" is not the name of a header", member.name));
    } else if (table.expect("fields", member, reading::NodeKind::string)) {
      if (auto text = answer_part(table, "fields", member))
        handshake.fields.emplace_back(member.name, *std::move(text));
    }
  }
}

template <class Visit>
void for_each_answer(const Handshake& handshake, Visit visit) {
  if (handshake.text) visit(*handshake.text);
  for (const auto& [name, text] : handshake.fields) visit(text);
  for (const auto& [name, value] : handshake.json) {
    if (const auto* text = std::get_if<policy::Expression>(&value)) visit(*text);
  }
}

void check_handshake(reading::TableReader& table, const Handshake& handshake) {
  bool token = false;
  bool hmac = false;
  for_each_answer(handshake, [&](const policy::Expression& text) {
    token = token || text.has(policy::PartKind::token);
    hmac = hmac || text.has(policy::PartKind::hmac);
  });
  if ((token || hmac) && !handshake.token) {
    table.reject("token", table.at("token"), "the answer has {token} or {hmac}, so `token` must say where to find it");
  }
  if (hmac && !handshake.hmac) {
    table.reject("hmac", table.at("hmac"), "the answer has {hmac}, so `hmac` must say which: \"sha256\" or \"sha1\"");
  }
  if (handshake.text && !handshake.json.empty()) {
    table.reject("text", table.at("text"), "an answer is either `text` or `json`");
  }
  if (!handshake.is.empty() && !handshake.when) {
    table.reject("is", table.at("is"), "`is` is the value that `when` must have, but there is no `when`");
  }
  if (handshake.method == "POST" && !handshake.when) {
    table.reject("when", table.at("when"), "without `when` every POST would be taken for this handshake");
  }
}

}  // namespace

void read_handshake(reading::Reading& reading, const reading::Node& node, Provider& provider) {
  reading::TableReader table(reading, &node, "handshake");
  Handshake handshake;
  std::string_view method = "POST";
  reading::read_choice(table, "method", method, method_choices);
  handshake.method = method;
  read_expression(table, "when", policy::ExpressionUse::event, handshake.when);
  reading::read_text(table, "is", handshake.is);
  read_expression(table, "unless", policy::ExpressionUse::event, handshake.unless);
  reading::read_flag(table, "authenticated", handshake.authenticated);
  read_expression(table, "token", policy::ExpressionUse::event, handshake.token);
  reading::read_choice(table, "letters", handshake.letters, letter_choices);
  reading::read_count(table, "token_bytes_max", handshake.token_bytes_max, {.min = 1, .max = 1024});
  read_expression(table, "verify", policy::ExpressionUse::event, handshake.verify);
  Algorithm hmac = Algorithm::hmac_sha256;
  reading::read_choice(table, "hmac", hmac, hmac_choices);
  if (table.has("hmac")) handshake.hmac = hmac;
  reading::read_choice(table, "hmac_encoding", handshake.hmac_encoding, encoding_choices);
  std::uint32_t status = 200;
  reading::read_count(table, "status", status, {.min = 200, .max = 299});
  handshake.status = static_cast<std::uint16_t>(status);
  read_expression(table, "text", policy::ExpressionUse::handshake, handshake.text);
  read_json_answer(table, handshake);
  read_answer_fields(table, handshake);
  check_handshake(table, handshake);
  table.finish();
  provider.handshakes.push_back(std::move(handshake));
}

}  // namespace semel::webhook
