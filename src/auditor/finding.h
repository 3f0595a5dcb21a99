// Something that an audit found, as it is kept until somebody has dealt with it.
//
//   open ──acknowledge──▶ acknowledged ──close──▶ closed
//     └───────────────close─────────────────────────┘
//
// A finding is named by (audit, kind, key), so windows that overlap find it once. A closed one stays closed, unless the
// key gets one more effect. It holds neither the key nor the scope in clear: the id of the key, and the rows' own
// `effect`, time and value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auditor/comparison.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::auditor {

enum class FindingState : std::uint8_t { open = 1, acknowledged = 2, closed = 3 };
std::string_view name(FindingState state);

// A row of the query, without who it belongs to. Its texts are cut (evidence_text).
struct EvidenceRow {
  std::string effect;
  Time at{};
  std::optional<std::string> value;
};

// What Semel knows of the key.
struct KeyEvidence {
  std::string id;  // in hexadecimal, as the desk shows it; empty if the row has no key
  std::string state;
  std::uint64_t fence = 0;  // of the last attempt, and so how many there were
  std::optional<Time> claimed_at;
  std::vector<std::string> seen;  // of its timeline: JSON, each with node, fence and time
};

struct AuditFinding {
  std::string id;  // 32 hexadecimal digits
  std::string audit;
  AuditKind kind{};
  FindingState state = FindingState::open;
  std::uint64_t effects = 0;
  Time first_seen{};
  Time last_seen{};
  std::vector<EvidenceRow> rows;
  std::vector<KeyEvidence> keys;
  std::string reason;  // of the last act
  std::string who;
  std::optional<Time> acted_at;
  std::uint64_t paged = 0;  // how many effects the last page told of; 0: nobody was paged
};

// A finding is one note, which has 64 KiB, whatever the rows hold: so many bytes has a text of a row, and an event of a
// timeline, at most, as they are written in JSON.
inline constexpr std::size_t evidence_text_bytes_max = 1'024;
inline constexpr std::size_t evidence_event_bytes_max = 512;

// The text; if it is longer than that, its beginning, and how long it is.
std::string evidence_text(std::string_view text);

// Of two keys with equal values, both.
std::string finding_id(std::string_view audit, AuditKind kind, const Digest& key, const Digest& other = {});

std::string finding_json(const AuditFinding& finding);
// Code::corrupt: it is no finding.
Result<AuditFinding> finding_from(std::string_view json);

std::string audit_time(Time at);  // RFC 3339 with milliseconds, UTC
std::optional<Time> audit_time_from(std::string_view text);

}  // namespace semel::auditor
