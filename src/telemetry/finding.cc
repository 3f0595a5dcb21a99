// Bytes: a version, then numbers of eight bytes, lowest first, and texts behind their lengths.
#include "telemetry/finding.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/sha256.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::telemetry {
namespace {

constexpr char version = 1;
constexpr std::size_t members_max = 64;
constexpr std::size_t id_bytes = 16;

constexpr std::array<std::string_view, finding_kinds> kind_names{
    "new-key-per-retry", "body-changes",        "constant-key", "guessable-key",       "personal-key",
    "too-late",          "ignores-retry-after", "gives-up",     "unstable-webhook-key"};

constexpr std::array<std::string_view, finding_kinds> kind_advice{
    "Make the key once, before the first attempt, store it with the operation, and send the same key with every retry.",
    "Send the same body with every retry, or let the route ignore the members that change.",
    "Make a new key for every operation; one key for several of them lets only the first through.",
    "Make keys that nobody can guess, such as a random UUID.",
    "Leave personal data out of keys; use a random UUID.",
    "Retry sooner, or raise the route's ttl: a key that has expired runs again.",
    "Wait as long as Retry-After says before the next attempt.",
    "Retry after 409 and 503 with the same key: without it nobody knows how the request ended.",
    "Take the event's key from something that stays the same in every delivery of one event (key_from of the "
    "webhook)."};

void put(std::string& out, std::uint64_t number) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(number >> static_cast<unsigned>(8 * i)));
}
void put(std::string& out, std::string_view text) {
  put(out, text.size());
  out.append(text);
}

struct FindingReader {
  std::string_view left;
  bool whole = true;

  std::uint64_t number() {
    if (left.size() < 8) {
      whole = false;
      return 0;
    }
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{static_cast<std::uint8_t>(left[i])} << (8 * i);
    left.remove_prefix(8);
    return value;
  }
  std::string text() {
    const std::uint64_t size = number();
    if (size > left.size()) {
      whole = false;
      return {};
    }
    std::string value(left.substr(0, size));
    left.remove_prefix(size);
    return value;
  }
};

}  // namespace

std::string_view name(FindingKind kind) {
  return kind_names.at(static_cast<std::size_t>(kind));
}

std::string_view advice_for(FindingKind kind) {
  return kind_advice.at(static_cast<std::size_t>(kind));
}

std::string Finding::remedy() const {
  if (kind != FindingKind::body_changes || members.empty()) return {};
  std::string text = "ignore = [";
  for (const std::string& member : members) {
    text += text.ends_with('[') ? "\"/" : ", \"/";
    for (const char c : member) {
      if (c == '~' || c == '/') {
        text += c == '~' ? "~0" : "~1";
      } else if (c == '"' || c == '\\') {
        text += std::string("\\") + c;
      } else {
        text.push_back(c);
      }
    }
    text.push_back('"');
  }
  return text + "]";
}

std::string Finding::id() const {
  const Digest digest = core::sha256_parts("semel finding v1", {name(kind), route, scope});
  return {reinterpret_cast<const char*>(digest.data()), id_bytes};
}

std::string encode(const Finding& finding) {
  std::string out(1, version);
  put(out, static_cast<std::uint64_t>(finding.kind));
  put(out, std::uint64_t{finding.strong});
  put(out, finding.route);
  put(out, finding.scope);
  put(out, finding.evidence);
  put(out, finding.members.size());
  for (const std::string& member : finding.members) put(out, member);
  put(out, finding.count);
  put(out, static_cast<std::uint64_t>(finding.first.time_since_epoch().count()));
  put(out, static_cast<std::uint64_t>(finding.last.time_since_epoch().count()));
  return out;
}

std::optional<Finding> decode_finding(std::string_view bytes) {
  if (bytes.empty() || bytes.front() != version) return std::nullopt;
  FindingReader reader{.left = bytes.substr(1)};
  Finding finding;
  const std::uint64_t kind = reader.number();
  finding.kind = static_cast<FindingKind>(std::min<std::uint64_t>(kind, finding_kinds - 1));
  finding.strong = reader.number() != 0;
  finding.route = reader.text();
  finding.scope = reader.text();
  finding.evidence = reader.text();
  const std::uint64_t members = reader.number();
  for (std::uint64_t i = 0; i < members && i < members_max && reader.whole; ++i) {
    finding.members.push_back(reader.text());
  }
  finding.count = reader.number();
  finding.first = Time{Millis{static_cast<std::int64_t>(reader.number())}};
  finding.last = Time{Millis{static_cast<std::int64_t>(reader.number())}};
  if (!reader.whole || !reader.left.empty() || kind >= finding_kinds || members > members_max) return std::nullopt;
  return finding;
}

std::vector<Finding> merged(std::vector<Finding> findings) {
  std::map<std::string, Finding> by_id;
  for (Finding& each : findings) {
    const auto [at, added] = by_id.try_emplace(each.id(), each);
    if (added) continue;
    Finding& kept = at->second;
    const Time first = std::min(kept.first, each.first);
    const std::uint64_t count = std::max(kept.count, each.count);
    const bool strong = kept.strong || each.strong;
    if (each.last > kept.last) kept = std::move(each);
    kept.first = first;
    kept.count = count;
    kept.strong = strong;
  }
  std::vector<Finding> all;
  all.reserve(by_id.size());
  for (auto& [id, finding] : by_id) all.push_back(std::move(finding));
  std::ranges::sort(all, [](const Finding& one, const Finding& other) {
    return std::pair(other.last, other.count) < std::pair(one.last, one.count);
  });
  return all;
}

}  // namespace semel::telemetry
