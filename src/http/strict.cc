// One function per part of the head; each returns what is wrong first. The rules are those of RFC 9110 and 9112.
#include "http/strict.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <boost/beast/core/string.hpp>

#include "core/field_view.h"
#include "http/head.h"

namespace semel::http {
namespace {

using boost::beast::iequals;

std::optional<HeadFault> bad(std::string_view detail) {
  return HeadFault{.status = 400, .detail = detail};
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// Returns the next member of a list field. Empty members are skipped (RFC 9110 §5.6.1.2).
std::string_view next_member(std::string_view& list) {
  std::string_view member;
  while (member.empty() && !list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    member = trimmed(list.substr(0, end));
    list.remove_prefix(std::min(list.size(), end + 1));
  }
  return member;
}

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

// Whether this can be a Host, or the authority of an absolute target. A port may follow, but no path, query or user.
bool is_authority(std::string_view text) {
  constexpr std::string_view marks = "-._~%!$&'()*+,;=:[]";
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

std::optional<HeadFault> fault_of_target(const Head& request) {
  const std::string_view target = request.target();
  if (request.method() == "CONNECT" || request.method() == "TRACE") {
    return HeadFault{.status = 405, .detail = "This gateway takes neither CONNECT nor TRACE."};
  }
  if (std::ranges::any_of(target, [](char c) { return c <= ' ' || c >= 0x7f; })) {
    return bad("The target holds a byte that must be percent-encoded.");
  }
  if (target.find('#') != std::string_view::npos) return bad("The target holds a fragment.");
  if (target.starts_with('/') || (target == "*" && request.method() == "OPTIONS")) return std::nullopt;
  const std::size_t scheme = target.find("://");
  const bool web = scheme != std::string_view::npos &&
                   (iequals(target.substr(0, scheme), "http") || iequals(target.substr(0, scheme), "https"));
  if (!web) return bad("The target is neither a path nor an http URL.");
  const std::string_view authority = target.substr(scheme + 3, target.find_first_of("/?", scheme + 3) - scheme - 3);
  if (authority.empty() || !is_authority(authority))
    return bad("The authority of the target is not a host and a port.");
  return std::nullopt;
}

struct Counts {
  std::size_t hosts = 0;
  std::size_t lengths = 0;
};

std::optional<HeadFault> fault_of_field(const FieldView& field, bool modern, Counts& counts) {
  if (field.name.find('_') != std::string_view::npos) {
    return bad("The name of a field holds an underscore, which some programs read as a hyphen.");
  }
  if (iequals(field.name, "Host")) {
    if (++counts.hosts > 1) return bad("There are several Host fields.");
    if (!is_authority(field.value)) return bad("The Host field is not a host and a port.");
  } else if (iequals(field.name, "Content-Length")) {
    if (++counts.lengths > 1 || !is_digits(field.value)) return bad("The Content-Length is not one number.");
  } else if (modern && iequals(field.name, "Expect") && !iequals(field.value, "100-continue")) {
    return HeadFault{.status = 417, .detail = "Only Expect: 100-continue is known here."};
  }
  return std::nullopt;
}

}  // namespace

Coding coding_of(const Head& message) {
  bool any = false;
  bool chunked = false;
  bool other = false;
  for (const FieldView& field : message.fields()) {
    if (!iequals(field.name, "Transfer-Encoding")) continue;
    any = true;
    std::string_view list = field.value;
    for (std::string_view coding = next_member(list); !coding.empty(); coding = next_member(list)) {
      if (chunked) return Coding::faulty;  // chunked is not the last coding, or is there twice
      chunked = iequals(coding, "chunked");
      if (!chunked) other = true;
    }
  }
  if (!any) return Coding::plain;
  if (!chunked || message.version() < 11) return Coding::faulty;
  return other ? Coding::unknown : Coding::plain;
}

bool is_folded(std::string_view head) {
  for (std::size_t at = head.find('\n'); at != std::string_view::npos; at = head.find('\n', at + 1)) {
    if (at + 1 < head.size() && (head[at + 1] == ' ' || head[at + 1] == '\t')) return true;
  }
  return false;
}

bool has_bare_line_feed(std::string_view text) {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
    if (at == 0 || text[at - 1] != '\r') return true;
  }
  return false;
}

bool first_line_is_bare(std::string_view head) {
  const std::size_t end = head.find('\n');
  return end != std::string_view::npos && (end == 0 || head[end - 1] != '\r');
}

std::optional<std::string> without_space_before_colons(std::string_view head) {
  std::string out;
  out.reserve(head.size());
  bool fields = false;  // behind the status line
  bool removed = false;
  while (!head.empty()) {
    const std::size_t end = head.find("\r\n");
    const std::string_view line = head.substr(0, end == std::string_view::npos ? end : end + 2);
    head.remove_prefix(line.size());
    const std::size_t colon = fields ? line.find(':') : std::string_view::npos;
    const std::string_view name = colon == std::string_view::npos ? std::string_view() : line.substr(0, colon);
    const std::size_t last = name.find_last_not_of(" \t");
    const bool spaced = last != std::string_view::npos && last + 1 < name.size();
    out.append(spaced ? name.substr(0, last + 1) : std::string_view()).append(spaced ? line.substr(colon) : line);
    removed = removed || spaced;
    fields = true;
  }
  if (!removed) return std::nullopt;
  return out;
}

std::optional<HeadFault> fault_of(const Head& request) {
  if (auto fault = fault_of_target(request)) return fault;
  const bool modern = request.version() >= 11;
  Counts counts;
  for (const FieldView& field : request.fields()) {
    if (auto fault = fault_of_field(field, modern, counts)) return fault;
  }
  if (modern && counts.hosts == 0) return bad("There is no Host field.");
  switch (coding_of(request)) {
    case Coding::plain:
      return std::nullopt;
    case Coding::unknown:
      return HeadFault{.status = 501, .detail = "Of transfer codings only chunked is known here."};
    case Coding::faulty:
      break;
  }
  return bad("The Transfer-Encoding is not chunked, once and last, in HTTP/1.1.");
}

}  // namespace semel::http
