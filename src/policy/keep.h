// What is kept of an answer, and whether one is kept at all.
//
//   2xx, 3xx, 4xx                    keep      the handler said what came of it
//   401, 403                         release   nobody was let in, and strangers must not fill the store
//   408, 409, 425, 429               release   it says that nothing was done and to try again
//   500, 501, 503                    release   the handler says that it failed
//   502, 504, every other 5xx        unknown   speaks for something further back, or for nobody
//   anything below 200 or above 599  unknown   not a final answer
//
// A route's own rules come first, and `Semel-Outcome: store | release | unknown` from the upstream before those.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/field_view.h"
#include "policy/fields.h"
#include "policy/request_view.h"
#include "reading/fault.h"
#include <semel/once.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::policy {

// A route's verdicts by status ("404") or class ("5xx"); the status is the more exact one and wins.
class KeepRules {
 public:
  reading::Parsed<void> set(std::string_view statuses, Verdict verdict);
  [[nodiscard]] std::optional<Verdict> find(std::uint16_t status) const;

 private:
  std::array<std::optional<Verdict>, 6> classes_;
  std::vector<std::pair<std::uint16_t, Verdict>> statuses_;
};

// For webhooks: only a success is kept; after any other answer the event comes again.
KeepRules keep_successes();

struct Judgement {
  Verdict verdict = Verdict::unknown;
  bool bad_outcome_field = false;  // Semel-Outcome had no known value: it was ignored, and is counted
};

Judgement judge(std::uint16_t status, std::span<const FieldView> fields, const KeepRules& rules);

// What a probe's answer means for the attempt that it asks about: 2xx, it took effect and this is the answer; 404 and
// 410, it did not; anything else, still unknown. Semel-Outcome wins here too.
Judgement judge_probe(std::uint16_t status, std::span<const FieldView> fields);

struct KeepTerms {
  std::uint64_t store_body_max = 0;
  std::span<const std::string> replay_fields;  // personal fields to be replayed all the same
  std::string_view replayed_header;            // ours, so not the upstream's to set
};

// The answer in the form in which it is stored: without fields that end at this hop, that are ours, that are personal
// and not listed, or that could not be written again. A body over the limit makes it a tombstone: status and Location.
Response to_keep(std::uint16_t status, std::span<const FieldView> fields, std::string_view body,
                 const KeepTerms& terms);

// Writes the fields of the upstream's answer that its first caller gets: all but those that end at this hop or are
// ours.
void to_client(std::span<const FieldView> fields, std::string_view replayed_header, FieldSink sink);

// Code::corrupt: the stored answer cannot be written as a message without becoming another one. Checked before every
// replay: what is read from a disk is input.
Result<void> check_stored(const Response& response);

}  // namespace semel::policy
