// Expressions say which parts of a request make up a key, a scope or the target of a probe.
//
//   {header:X} {cookie:X} {query:x} {json:/pointer} {path} {method} {ip} {client_cert:subject} {jwt:claim}
//   and literal text
//
// A part that is missing or empty is an error that names it. Written with a question mark, {header:X?}, it may be
// either: absent and empty are then two different values. `{{` and `}}` are braces. docs/configuration.md has the rules
// in full. An expression is parsed once, when the configuration is read. The files of webhook providers have more
// parts, each where it makes sense: docs/webhooks.md.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "policy/request_view.h"
#include "reading/fault.h"

namespace semel::policy {

enum class PartKind : std::uint8_t {
  literal,
  header,
  cookie,
  query,
  json,
  path,
  method,
  ip,
  client_cert,  // {client_cert:subject}: of the certificate that the client showed
  jwt,          // {jwt:sub}, {jwt:/pointer}: a claim of the token that was verified
  key,          // of a probe
  form,         // {form:x}: one field of a form in the body
  sha256,       // {sha256:body}, {sha256:signed}: in hexadecimal
  body,         // as received
  timestamp,    // {timestamp}: the text that the provider sent
  url,          // the URL that the provider calls, with path and query
  whole_form,   // {form*}: names and values of a form, sorted
  headers,      // {headers:X-Sig-}: all whose name begins like this
  item,         // {item:t=}: what follows `t=` in the list of signatures
  token,        // of a handshake: what the provider wants to see again
  hmac,         // of the token
  key_id,       // what names the secret
};

struct Part {
  PartKind kind = PartKind::literal;
  std::string text;                  // of a literal, or the name after the colon
  std::vector<std::string> pointer;  // of {json:} and {jwt:}: unescaped reference tokens
  bool optional = false;

  friend bool operator==(const Part&, const Part&) = default;
};

// As it is written: `{header:X?}`, or the literal itself.
std::string part_text(const Part& part);

struct Expression {
  std::string text;
  std::vector<Part> parts;

  [[nodiscard]] bool has(PartKind kind) const;
  [[nodiscard]] bool is_single(PartKind kind) const { return parts.size() == 1 && parts.front().kind == kind; }
};

enum class ExpressionUse : std::uint8_t {
  identity,     // a key or a scope
  target,       // of a probe, where {key} is known too
  event,        // what names an event of a webhook, its type, its object or its place in an order
  signed_text,  // the bytes that a webhook's signature covers
  signature,    // where a webhook's signatures are
  timestamp,    // where the time of a webhook's signature is
  handshake,    // what a webhook's handshake answers
};

reading::Parsed<Expression> parse_expression(std::string_view text, ExpressionUse use = ExpressionUse::identity);

// Of text that is known to be right: a default in the code.
Expression expression(std::string_view text);

struct PartError {
  enum class Kind : std::uint8_t {
    missing,
    empty,
    invalid,     // present, but not usable: sent twice, a bad percent sign, two members of one name
    unverified,  // the caller has shown no token, or one that does not count
  };
  Kind kind = Kind::missing;
  std::string part;    // as written in the expression
  std::string detail;  // a sentence that names the part and never quotes its value
};

// The values of the parts, joined so that two different lists of values never give the same string. A single value that
// is present is used as it is; see join_values().
std::expected<std::string, PartError> evaluate(const Expression& expression, const RequestView& request);

// An origin-form target: literals as written, the values of the other parts percent-encoded.
std::expected<std::string, PartError> render_target(const Expression& expression, const RequestView& request,
                                                    std::string_view key);

}  // namespace semel::policy
