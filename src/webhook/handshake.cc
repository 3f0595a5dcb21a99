// Matching, then the token and its limits, then the answer.
#include "webhook/handshake.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "core/crypto.h"
#include "core/encoding.h"
#include "core/json/writer.h"
#include "policy/expression.h"
#include "policy/reply.h"
#include "policy/request_view.h"
#include "reading/secret.h"
#include "webhook/authenticate.h"
#include "webhook/challenge.h"
#include "webhook/opened.h"
#include "webhook/provider.h"
#include <semel/response.h>

namespace semel::webhook {
namespace {

// The values for the parts of an answer.
struct Words {
  std::string token;
  std::string hmac;
  std::string key_id;
};

bool is_missing(const policy::Expression& part, const policy::RequestView& request) {
  const auto value = policy::evaluate(part, request);
  return !value && value.error().kind == policy::PartError::Kind::missing;
}

bool is_meant(const Handshake& handshake, const policy::RequestView& request, Stage stage) {
  const Stage its_stage = handshake.authenticated ? Stage::after_signature : Stage::before_signature;
  if (its_stage != stage || handshake.method != request.method) return false;
  if (handshake.unless && !is_missing(*handshake.unless, request)) return false;
  if (!handshake.when) return true;
  const auto value = policy::evaluate(*handshake.when, request);
  return value && (handshake.is.empty() || *value == handshake.is);
}

std::string hmac_text(const Handshake& handshake, std::string_view key, std::string_view token) {
  const core::HmacHash hash = handshake.hmac == Algorithm::hmac_sha1 ? core::HmacHash::sha1 : core::HmacHash::sha256;
  const std::string tag = hmac(hash, key, token);
  return handshake.hmac_encoding == Encoding::hex ? core::to_hex(tag) : core::to_base64(tag);
}

std::string filled_in(const policy::Expression& expression, const Words& words) {
  std::string text;
  for (const policy::Part& part : expression.parts) {
    if (part.kind == policy::PartKind::token) {
      text.append(words.token);
    } else if (part.kind == policy::PartKind::hmac) {
      text.append(words.hmac);
    } else if (part.kind == policy::PartKind::key_id) {
      text.append(words.key_id);
    } else {
      text.append(part.text);
    }
  }
  return text;
}

std::string json_body(const Handshake& handshake, const Words& words) {
  std::string body;
  core::json::JsonWriter json(body);
  json.begin_object();
  for (const auto& [name, value] : handshake.json) {
    if (const auto* const text = std::get_if<policy::Expression>(&value)) {
      json.escaped_name(name).text(filled_in(*text, words));
    } else {
      json.escaped_name(name).number(std::get<std::int64_t>(value));
    }
  }
  json.end_object();
  return body;
}

Response make_answer(const Handshake& handshake, const Words& words) {
  Response response{.status = handshake.status, .fields = {}, .body = {}};
  if (!handshake.json.empty()) {
    response.fields.push_back({.name = "Content-Type", .value = "application/json"});
    response.body = json_body(handshake, words);
  } else if (handshake.text) {
    response.fields.push_back({.name = "Content-Type", .value = "text/plain"});
    response.body = filled_in(*handshake.text, words);
  }
  response.fields.push_back({.name = "X-Content-Type-Options", .value = "nosniff"});
  for (const auto& [name, value] : handshake.fields) {
    response.fields.push_back({.name = name, .value = filled_in(value, words)});
  }
  return response;
}

HandshakeAnswer refusal(std::uint16_t status, std::string_view why) {
  return {.response = policy::plain_reply(status, why), .accepted = false};
}

// The secret that signs first in the first scheme.
const SecretKey* first_key(const Lock& lock) {
  for (const auto& keys : lock.keys) {
    for (const auto& key : keys) {
      if (key) return &*key;
    }
  }
  return nullptr;
}

HandshakeAnswer answer(const Handshake& handshake, const Lock& lock, const reading::Secret& verify_token,
                       const policy::RequestView& request) {
  if (handshake.verify) {
    const auto sent = policy::evaluate(*handshake.verify, request);
    const bool right = sent && !verify_token.empty() && core::equal_in_constant_time(*sent, verify_token.reveal());
    if (!right) return refusal(401, "The verify token is not the one of this endpoint.");
  }
  Words words;
  if (handshake.token) {
    auto token = policy::evaluate(*handshake.token, request);
    if (!token || !is_allowed(*token, handshake)) {
      return refusal(400, "The token of the handshake is missing, too long, or has characters that are not signed.");
    }
    words.token = *std::move(token);
  }
  const SecretKey* const key = first_key(lock);
  if (key != nullptr) words.key_id = key->id;
  if (handshake.hmac) {
    if (key == nullptr) return refusal(400, "There is no secret to answer the handshake with.");
    words.hmac = hmac_text(handshake, key->bytes, words.token);
  }
  return {.response = make_answer(handshake, words), .accepted = true};
}

}  // namespace

std::optional<HandshakeAnswer> answer_handshake(const Provider& provider, const Lock& lock,
                                                const reading::Secret& verify_token,
                                                const policy::RequestView& unopened, Stage stage) {
  const policy::RequestView request = opened(provider, unopened);
  for (const Handshake& handshake : provider.handshakes) {
    if (is_meant(handshake, request, stage)) return answer(handshake, lock, verify_token, request);
  }
  return std::nullopt;
}

}  // namespace semel::webhook
