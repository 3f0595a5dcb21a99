// One function per kind of part; what is joined with nothing between it is not covered.
#include "webhook/coverage.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

#include "core/ascii.h"
#include "policy/expression.h"
#include "webhook/moment.h"
#include "webhook/provider.h"
#include <semel/clock.h>

namespace semel::webhook {
namespace {

using policy::Part;
using policy::PartKind;

constexpr std::array<std::string_view, 2> paypal_headers{"paypal-transmission-id", "paypal-transmission-time"};
constexpr std::array<std::string_view, 5> sns_members{"/MessageId", "/Message", "/Timestamp", "/TopicArn", "/Type"};

bool signs_text(const SignatureScheme& scheme) {
  return !fetches_keys(scheme.algorithm) && scheme.algorithm != Algorithm::token && scheme.algorithm != Algorithm::none;
}

// Whether a value behind this part cannot begin elsewhere. A time has a form that cannot be stretched.
bool begins_a_value(const SignatureScheme& scheme, const Part& before) {
  if (before.kind == PartKind::literal) return true;
  return before.kind == PartKind::timestamp &&
         (scheme.timestamp_form == MomentForm::rfc3339 || scheme.tolerance > Millis{0});
}

// Whether a value before this part cannot end elsewhere. render_signed() refuses headers that hold the part; digits
// that are a time cannot be told from digits of an id.
bool ends_a_value(const SignatureScheme& scheme, const Part& behind) {
  if (behind.kind == PartKind::literal) return true;
  return behind.kind == PartKind::timestamp && scheme.timestamp_form == MomentForm::rfc3339;
}

bool is_same(const Part& one, const Part& other) {
  if (one.kind != other.kind || one.optional || other.optional) return false;
  return one.kind == PartKind::header ? core::equal_ignoring_case(one.text, other.text) : one.text == other.text;
}

// Whether the part stands in the signed text by itself, with limits on both sides.
bool stands_alone(const SignatureScheme& scheme, const Part& part) {
  const std::vector<Part>& parts = scheme.signed_text.parts;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool limited = (i == 0 || begins_a_value(scheme, parts[i - 1])) &&
                         (i + 1 == parts.size() || ends_a_value(scheme, parts[i + 1]));
    if (limited && is_same(parts[i], part)) return true;
  }
  return false;
}

bool covers_body(const SignatureScheme& scheme) {
  if (scheme.algorithm == Algorithm::plaid) return true;
  if (!signs_text(scheme)) return false;
  const auto outside_and_covered = [&](const Part& part) {
    const bool outside = part.kind == PartKind::query || part.kind == PartKind::header;
    return outside && !part.optional && covers(scheme, part);
  };
  const bool hashed = scheme.body_hash && std::ranges::all_of(scheme.body_hash->parts, outside_and_covered);
  return hashed || scheme.signed_text.has(PartKind::body);
}

// {url}{body} can be cut elsewhere: a JSON body is none then, but its bytes are others.
bool covers_bytes_of_body(const SignatureScheme& scheme) {
  const std::vector<Part>& parts = scheme.signed_text.parts;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].kind == PartKind::body && !begins_a_value(scheme, parts[i - 1])) return false;
  }
  return covers_body(scheme);
}

bool covers_url(const SignatureScheme& scheme) {
  return stands_alone(scheme, {.kind = PartKind::url, .text = {}, .pointer = {}});
}

bool covers_json(const SignatureScheme& scheme, const Part& part) {
  if (scheme.algorithm == Algorithm::aws_sns) return std::ranges::find(sns_members, part.text) != sns_members.end();
  return covers_body(scheme);
}

bool covers_header(const SignatureScheme& scheme, const Part& part) {
  if (scheme.algorithm != Algorithm::paypal) return signs_text(scheme) && stands_alone(scheme, part);
  return !part.optional && std::ranges::find(paypal_headers, core::to_lower(part.text)) != paypal_headers.end();
}

}  // namespace

bool covers(const SignatureScheme& scheme, const Part& part) {
  switch (part.kind) {
    case PartKind::literal:
      return true;
    case PartKind::header:
      return covers_header(scheme, part);
    case PartKind::json:
      return covers_json(scheme, part);
    case PartKind::sha256:
      return part.text == "signed" ? signs_text(scheme) : covers_bytes_of_body(scheme);
    case PartKind::path:
    case PartKind::query:
      return signs_text(scheme) && (covers_url(scheme) || stands_alone(scheme, part));
    case PartKind::method:
      return signs_text(scheme) && scheme.signed_text.has(PartKind::method);
    case PartKind::form:  // {body} is not enough: whether it is a form is what its Content-Type says
      return signs_text(scheme) && scheme.signed_text.parts.size() == 1 && stands_alone(scheme, part);
    default:
      return false;
  }
}

bool covers(const SignatureScheme& scheme, const policy::Expression& expression) {
  return std::ranges::all_of(expression.parts, [&](const Part& part) { return covers(scheme, part); });
}

const std::vector<policy::Expression>& ids_of(const Provider& provider, const SignatureScheme& scheme) {
  return scheme.id.empty() ? provider.event.id : scheme.id;
}

bool signs_id(const Provider& provider, const SignatureScheme& scheme, std::size_t id) {
  const std::vector<policy::Expression>& ids = ids_of(provider, scheme);
  const auto end = ids.begin() + static_cast<std::ptrdiff_t>(std::min(id + 1, ids.size()));
  return std::all_of(ids.begin(), end, [&](const policy::Expression& each) { return covers(scheme, each); });
}

bool signs_id(const Provider& provider, const SignatureScheme& scheme) {
  return signs_id(provider, scheme, ids_of(provider, scheme).size());
}

bool vouches_for_sender_only(const Provider& provider, const SignatureScheme& scheme) {
  if (scheme.algorithm == Algorithm::jwt) return true;
  if (fetches_keys(scheme.algorithm)) return false;
  if (!signs_text(scheme)) return true;
  const auto of_content = [](const Part& part) {
    return part.kind == PartKind::body || part.kind == PartKind::whole_form || part.kind == PartKind::form;
  };
  if (scheme.body_hash || std::ranges::any_of(scheme.signed_text.parts, of_content)) return false;
  return std::ranges::none_of(ids_of(provider, scheme),
                              [&](const policy::Expression& id) { return covers(scheme, id); });
}

std::vector<policy::Part> unsigned_id_parts(const Provider& provider, const SignatureScheme& scheme) {
  std::vector<policy::Part> found;
  for (const policy::Expression& id : ids_of(provider, scheme)) {
    for (const Part& part : id.parts) {
      if (!covers(scheme, part) && std::ranges::find(found, part) == found.end()) found.push_back(part);
    }
  }
  return found;
}

}  // namespace semel::webhook
