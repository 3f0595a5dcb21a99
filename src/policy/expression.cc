// The reader of expressions: text between braces is a part, everything else is literal.
#include "policy/expression.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <expected>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ascii.h"
#include "core/check.h"
#include "policy/fields.h"
#include "reading/fault.h"
#include "reading/nearest.h"
#include <semel/fingerprint.h>

namespace semel::policy {
namespace {

constexpr std::size_t expression_bytes_max = 1024;
constexpr std::size_t parts_max = 32;

constexpr unsigned bit(ExpressionUse use) {
  return 1U << static_cast<unsigned>(use);
}
constexpr unsigned in_keys = bit(ExpressionUse::identity) | bit(ExpressionUse::target);
constexpr unsigned in_events = bit(ExpressionUse::event);
constexpr unsigned in_signed = bit(ExpressionUse::signed_text);
constexpr unsigned in_sources = bit(ExpressionUse::signature) | bit(ExpressionUse::timestamp);
constexpr unsigned in_answers = bit(ExpressionUse::handshake);

struct Word {
  std::string_view name;
  PartKind kind;
  bool takes_name;
  unsigned uses;
};

constexpr std::array words{Word{"header", PartKind::header, true, in_keys | in_events | in_signed | in_sources},
                           Word{"headers", PartKind::headers, true, bit(ExpressionUse::signature)},
                           Word{"item", PartKind::item, true, bit(ExpressionUse::timestamp)},
                           Word{"cookie", PartKind::cookie, true, in_keys},
                           Word{"query", PartKind::query, true, in_keys | in_events | in_signed | in_sources},
                           Word{"json", PartKind::json, true, in_keys | in_events | in_signed | in_sources},
                           Word{"form", PartKind::form, true, in_events | in_signed | in_sources},
                           Word{"form*", PartKind::whole_form, false, in_signed},
                           Word{"path", PartKind::path, false, in_keys | in_events | in_signed},
                           Word{"method", PartKind::method, false, in_keys | in_events | in_signed},
                           Word{"ip", PartKind::ip, false, in_keys},
                           Word{"client_cert", PartKind::client_cert, true, bit(ExpressionUse::identity)},
                           Word{"jwt", PartKind::jwt, true, bit(ExpressionUse::identity)},
                           Word{"key", PartKind::key, false, bit(ExpressionUse::target)},
                           Word{"sha256", PartKind::sha256, true, in_events},
                           Word{"body", PartKind::body, false, in_signed},
                           Word{"timestamp", PartKind::timestamp, false, in_signed},
                           Word{"url", PartKind::url, false, in_signed},
                           Word{"token", PartKind::token, false, in_answers},
                           Word{"hmac", PartKind::hmac, false, in_answers},
                           Word{"key_id", PartKind::key_id, false, in_answers}};

const Word* find_word(std::string_view name, ExpressionUse use) {
  const auto known = [&](const Word& word) { return word.name == name && (word.uses & bit(use)) != 0; };
  const auto* const found = std::ranges::find_if(words, known);
  return found == words.end() ? nullptr : found;
}

std::vector<Word> words_for(ExpressionUse use) {
  std::vector<Word> known;
  std::ranges::copy_if(words, std::back_inserter(known),
                       [&](const Word& word) { return word.kind != PartKind::key && (word.uses & bit(use)) != 0; });
  return known;
}

// "header:, json: and path"
std::string list_words(ExpressionUse use) {
  std::string list;
  const std::vector<Word> known = words_for(use);
  for (const Word& word : known) {
    const bool last = &word == &known.back();
    if (!list.empty()) list += last ? " and " : ", ";
    list += fmt::format("{}{}", word.name, word.takes_name ? ":" : "");
  }
  return list;
}

std::string suggest_word(std::string_view name, std::string_view rest, ExpressionUse use) {
  std::vector<std::string_view> names;
  for (const Word& word : words_for(use)) names.push_back(word.name);
  const auto near = reading::nearest(name, names);
  return near ? fmt::format("{{{}{}}}", *near, rest) : std::string{};
}

// `{jwt:sub}` is the claim of that name, whatever is in the name; `{jwt:/realm_access/account}` is a pointer.
reading::Parsed<void> check_claim(Part& part, std::size_t offset) {
  if (!part.text.starts_with('/')) {
    part.pointer = {part.text};
    return {};
  }
  const auto pointers = IgnoreList::parse({part.text});
  if (!pointers) return reading::fault(fmt::format("\"{}\" is not a JSON pointer (RFC 6901)", part.text), {}, offset);
  part.pointer = pointers->paths().front();
  return {};
}

// Whether the part's name is right: `{json:/pointer}` and `{sha256:body}` have rules of their own.
reading::Parsed<void> check_name(Part& part, std::string_view kind, std::size_t offset) {
  if (part.kind == PartKind::jwt) return check_claim(part, offset);
  if (part.kind == PartKind::json) {
    const auto pointers = IgnoreList::parse({part.text});
    if (!pointers) {
      const bool no_slash = !part.text.starts_with('/');
      return reading::fault(fmt::format("\"{}\" is not a JSON pointer (RFC 6901)", part.text),
                            no_slash ? fmt::format("{{json:/{}}}", part.text) : std::string{}, offset);
    }
    part.pointer = pointers->paths().front();
    return {};
  }
  if (part.kind == PartKind::sha256 && part.text != "body" && part.text != "signed") {
    return reading::fault("only the body and what is signed are hashed: {sha256:body}, {sha256:signed}",
                          "{sha256:body}", offset);
  }
  if (part.kind == PartKind::client_cert && part.text != "subject") {
    return reading::fault("of a certificate only the subject is known: {client_cert:subject}", "{client_cert:subject}",
                          offset);
  }
  const bool any_text = part.kind == PartKind::query || part.kind == PartKind::form || part.kind == PartKind::item;
  if (!any_text && !is_field_name(part.text)) {
    return reading::fault(fmt::format("\"{}\" is not the name of a {}", part.text, kind), {}, offset);
  }
  return {};
}

// Between the braces. Offsets count from the opening brace.
reading::Parsed<Part> parse_part(std::string_view inside, ExpressionUse use) {
  const std::string_view whole = inside;
  Part part;
  part.optional = inside.ends_with('?');
  if (part.optional) inside.remove_suffix(1);
  const std::size_t colon = std::min(inside.find(':'), inside.size());
  const std::string_view kind = inside.substr(0, colon);
  const bool has_name = colon < inside.size();
  part.text = std::string(has_name ? inside.substr(colon + 1) : std::string_view{});
  if (kind.empty()) return reading::fault("a part in braces begins with its kind, such as {header:X}; {{ is a brace");
  if (kind == "key" && use == ExpressionUse::identity) {
    return reading::fault("{key} is known only in a probe; here it would have to name itself", {}, 1);
  }
  const Word* const word = find_word(kind, use);
  if (word == nullptr) {
    return reading::fault(fmt::format("there is no part {{{}}}; there are {}", kind, list_words(use)),
                          suggest_word(kind, whole.substr(colon), use), 1);
  }
  part.kind = word->kind;
  if (!word->takes_name) {
    if (has_name)
      return reading::fault(fmt::format("{{{}}} takes no name", kind), fmt::format("{{{}}}", kind), colon + 1);
    if (part.optional) {
      return reading::fault(fmt::format("{{{}}} is always present", kind), fmt::format("{{{}}}", kind),
                            inside.size() + 1);
    }
    return part;
  }
  const std::size_t name_offset = std::min(colon, inside.size()) + 2;
  if (part.text.empty()) {
    const std::string_view example = part.kind == PartKind::json ? "/pointer" : "NAME";
    return reading::fault(fmt::format("{{{}}} needs a name: {{{}:{}}}", kind, kind, example), {}, 1);
  }
  const auto named = check_name(part, kind, name_offset);
  if (!named) return std::unexpected(named.error());
  return part;
}

bool may_stand_in_target(char c) {
  return c > ' ' && c <= '~' && c != '#' && c != '\\';
}

reading::Parsed<Expression> check_target(Expression expression) {
  for (std::size_t i = 0; i < expression.text.size(); ++i) {
    if (!may_stand_in_target(expression.text[i])) {
      return reading::fault("a target holds only visible ASCII characters, and neither `#` nor a backslash", {}, i);
    }
  }
  if (!expression.text.starts_with('/')) {
    return reading::fault("a target begins with a slash", fmt::format("/{}", expression.text));
  }
  return expression;
}

}  // namespace

std::string part_text(const Part& part) {
  if (part.kind == PartKind::literal) return part.text;
  const auto* const word = std::ranges::find(words, part.kind, &Word::kind);
  return fmt::format("{{{}{}{}{}}}", word->name, word->takes_name ? ":" : "", part.text, part.optional ? "?" : "");
}

bool Expression::has(PartKind kind) const {
  return std::ranges::find(parts, kind, &Part::kind) != parts.end();
}

reading::Parsed<Expression> parse_expression(std::string_view text, ExpressionUse use) {
  if (text.size() > expression_bytes_max) return reading::fault("an expression is at most 1024 bytes long");
  Expression expression{.text = std::string(text), .parts = {}};
  const auto literal = [&]() -> std::string& {
    if (expression.parts.empty() || expression.parts.back().kind != PartKind::literal) expression.parts.emplace_back();
    return expression.parts.back().text;
  };
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const bool layout = use == ExpressionUse::signed_text && (c == '\n' || c == '\r' || c == '\t');
    if (core::is_control(c) && !layout) return reading::fault("an expression holds no control characters", {}, i);
    const bool brace = c == '{' || c == '}';
    if (!brace || (i + 1 < text.size() && text[i + 1] == c)) {
      literal().push_back(c);
      i += brace ? 2 : 1;
      continue;
    }
    if (c == '}') return reading::fault("a `}` closes nothing; }} is a brace", {}, i);
    const std::size_t end = text.find_first_of("{}", i + 1);
    if (end == std::string_view::npos || text[end] == '{') return reading::fault("this `{` is never closed", {}, i);
    auto part = parse_part(text.substr(i + 1, end - i - 1), use);
    if (!part) {
      part.error().offset += i;
      return std::unexpected(std::move(part).error());
    }
    expression.parts.push_back(std::move(*part));
    i = end + 1;
  }
  if (expression.parts.size() > parts_max) return reading::fault("an expression has at most 32 parts");
  return use == ExpressionUse::target ? check_target(std::move(expression)) : expression;
}

Expression expression(std::string_view text) {
  auto parsed = parse_expression(text);
  core::check(parsed.has_value(), "an expression in the code is right");
  return std::move(*parsed);
}

}  // namespace semel::policy
