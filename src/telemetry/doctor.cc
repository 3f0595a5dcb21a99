// Each examine_…() is one rule's memory; doctor_rules.cc judges what they counted.
#include "telemetry/doctor.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "telemetry/doctor_note.h"
#include "telemetry/doctor_rules.h"
#include "telemetry/doctor_watch.h"
#include "telemetry/finding.h"
#include "telemetry/key_look.h"
#include "telemetry/member_prints.h"
#include "telemetry/route_metrics.h"
#include "telemetry/tally.h"
#include <semel/clock.h>

namespace semel::telemetry {
namespace {

constexpr Millis minute{60'000};
constexpr Millis hour{60 * minute};
constexpr Millis retried_within{10 * minute};
constexpr Millis counted_for{72 * hour};  // and up to as long again
constexpr Millis waited_for{10 * minute};
constexpr Millis late_keys_kept{48 * hour};
constexpr std::size_t fingerprints_of_constant = 8;
constexpr std::size_t seen_max = 3;
constexpr std::size_t members_max = 32;
constexpr std::size_t scopes_of_text = 10;
constexpr std::uint64_t step_max = 1'000;   // from one number to the next, if they count up
constexpr std::uint64_t notes_max = 2'000;  // a second; more make the sample smaller
constexpr std::uint64_t notes_min = 400;
constexpr std::uint64_t mask_max = (1U << 16U) - 1;

std::uint64_t joined(const RouteMetrics* route, std::uint64_t scope, std::uint64_t more = 0) {
  std::uint64_t value =
      (scope * 0x9e37'79b9'7f4a'7c15ULL) ^ static_cast<std::uint64_t>(std::hash<const void*>()(route));
  value ^= more + 0x9e37'79b9'7f4a'7c15ULL + (value << 6U) + (value >> 2U);
  return value * 0xff51'afd7'ed55'8ccdULL;
}

std::string short_text(std::uint64_t scope) {
  constexpr unsigned left_out = 16;
  return fmt::format("{:012x}", scope >> left_out);
}

}  // namespace

Doctor::LastRun::End Doctor::end_of(const DoctorNote& note) {
  if (note.status == 0 || note.status == 504 || note.outcome == TallyOutcome::unknown) return LastRun::End::cut;
  return note.status == 409 || note.status >= 500 ? LastRun::End::refused : LastRun::End::well;
}

void Doctor::Client::note(FindingKind kind, Time at) {
  const auto of = static_cast<std::size_t>(kind);
  if (first[of] == Time{}) first[of] = at;
  last[of] = std::max(last[of], at);
}

Doctor::Client& Doctor::client_of(const RouteMetrics* route, std::uint64_t scope, Time now) {
  Client& client = clients_.of(joined(route, scope));
  if (client.route == nullptr) {
    client.route = route;
    client.scope = scope;
    client.began = now;
  }
  if (now >= client.began + counted_for) {
    client.old = now >= client.began + 2 * counted_for ? ClientCounts() : client.young;
    client.young = {};
    client.began = now;
    client.members.clear();
  }
  return client;
}

void Doctor::examine(const DoctorNote& note) {
  ++pace_.notes;
  Client& client = client_of(note.route, note.traits.scope, note.ended);
  client.source = note.source;
  if (is_odd(note.outcome, note.status)) client.odd_at = note.ended;
  if (note.by_request && (note.is_run() || end_of(note) != LastRun::End::well)) examine_retry(note, client);
  if (note.is_run()) examine_run(note, client);
  if (note.is_reuse()) examine_reuse(note, client);
  examine_wait(note, client);
}

void Doctor::examine_run(const DoctorNote& note, Client& client) {
  examine_look(note, client);
  examine_text(note);
  if (!note.members.empty()) {
    OddKey& odd = odd_.of(note.traits.key);
    if (odd.seen.empty()) odd.seen.push_back({.fingerprint = note.traits.fingerprint, .members = note.members});
  }
  const bool first = note.outcome == TallyOutcome::ran || note.outcome == TallyOutcome::accepted;
  const bool kept = first && (note.traits.key & watch_.late_mask()) == 0;
  if (!kept || !late_.seen_before(note.traits.key)) return;
  ++client.young.late;
  client.note(FindingKind::too_late, note.at);
}

void Doctor::examine_retry(const DoctorNote& note, Client& client) {
  if (note.is_run()) ++client.young.runs;
  const LastRun::End end = end_of(note);
  if (end == LastRun::End::refused) ++client.young.refused.failed;
  if (end == LastRun::End::cut) ++client.young.cut.failed;
  LastRun& last = runs_.of(joined(note.route, note.traits.scope, note.traits.fingerprint));
  const bool again = last.at != Time{} && last.key != note.traits.key && note.at <= last.at + retried_within;
  if (again) {
    if (last.end == LastRun::End::refused) ++client.young.refused.again;
    if (last.end == LastRun::End::cut) ++client.young.cut.again;
    if (last.end == LastRun::End::well) ++client.young.after_success;
    const bool webhook = note.source == DoctorNote::Source::webhook;
    client.note(webhook ? FindingKind::unstable_webhook_key : FindingKind::new_key_per_retry, note.at);
  }
  // The second of two that were sent at once is refused; what counts is how the first ends.
  const bool beside = last.key == note.traits.key && last.end == LastRun::End::well && end != LastRun::End::well;
  if (!beside) last = {.key = note.traits.key, .at = note.ended, .end = end};
}

void Doctor::examine_look(const DoctorNote& note, Client& client) {
  if (note.source == DoctorNote::Source::webhook) return;  // its sender names events as it likes
  ++client.young.shapes.at(static_cast<std::size_t>(note.look.shape));
  if (note.look.shape == KeyShape::personal) client.note(FindingKind::personal_key, note.at);
  if (note.look.shape == KeyShape::brief || note.look.shape == KeyShape::clock) {
    client.note(FindingKind::guessable_key, note.at);
  }
  if (note.look.shape != KeyShape::numbered) return;
  const std::uint64_t before = std::exchange(client.last_number, note.look.number);
  if (before == note.look.number) return;
  ++client.young.numbers.compared;
  const std::uint64_t step = note.look.number - before;  // huge if it went back
  if (step > step_max * (watch_.mask() + 1)) return;
  ++client.young.numbers.following;
  client.note(FindingKind::guessable_key, note.at);
}

// Customers of one business may all number their orders: only texts that nobody would hit upon by chance count.
void Doctor::examine_text(const DoctorNote& note) {
  const bool telling = note.look.shape == KeyShape::opaque || note.look.shape == KeyShape::brief;
  if (!telling || note.source == DoctorNote::Source::webhook || (note.traits.text & watch_.mask()) != 0) return;
  SharedText& text = texts_.of(joined(note.route, note.traits.text));
  if (text.route == nullptr) {
    text.route = note.route;
    text.first = note.at;
  }
  text.last = note.at;
  if (text.scopes.size() >= scopes_of_text || std::ranges::find(text.scopes, note.traits.scope) != text.scopes.end())
    return;
  text.scopes.push_back(note.traits.scope);
}

void Doctor::examine_reuse(const DoctorNote& note, Client& client) {
  OddKey& odd = odd_.of(note.traits.key);
  if (odd.fingerprints.empty()) {
    ++client.young.changed_keys;
    client.note(FindingKind::body_changes, note.at);
  }
  const bool known = std::ranges::find(odd.fingerprints, note.traits.fingerprint) != odd.fingerprints.end();
  if (!known && odd.fingerprints.size() < fingerprints_of_constant) {
    odd.fingerprints.push_back(note.traits.fingerprint);
  } else if (!known) {
    ++client.young.constant;
    client.note(FindingKind::constant_key, note.at);
  }
  if (note.members.empty() || known) return;
  for (const Seen& seen : odd.seen) {
    if (seen.fingerprint == note.traits.fingerprint) continue;
    for (const std::string& name : differing_members(seen.members, note.members)) {
      if (client.members.size() < members_max || client.members.contains(name)) ++client.members[name];
    }
    break;
  }
  if (odd.seen.size() < seen_max) odd.seen.push_back({.fingerprint = note.traits.fingerprint, .members = note.members});
}

void Doctor::examine_wait(const DoctorNote& note, Client& client) {
  OddKey* odd = odd_.find(note.traits.key);
  if (odd != nullptr && odd->waits && (note.at > odd->told_at || note.is_run())) {
    odd->waits = false;
    // A quarter of a second to spare: it may have begun to come before it was told.
    const Millis told = std::chrono::duration_cast<Millis>(odd->due - odd->told_at);
    const bool early = note.at > odd->told_at + Millis{250} && note.at < odd->due - told / 5;
    if (early) {
      ++client.young.early;
      client.note(FindingKind::ignores_retry_after, note.at);
    }
  }
  if (note.retry_after == 0 || (note.status != 409 && note.status != 503 && note.status != 429)) return;
  // Somebody who pressed a button twice has the answer of the first, and need not come back for that of the second.
  const LastRun* const run = runs_.find(joined(note.route, note.traits.scope, note.traits.fingerprint));
  const bool answered = run != nullptr && run->key == note.traits.key && run->end == LastRun::End::well &&
                        run->at + Millis{5'000} >= note.at;
  if (answered) return;
  odd = &odd_.of(note.traits.key);
  odd->route = note.route;
  odd->scope = note.traits.scope;
  odd->waits = true;
  odd->told_at = note.ended;
  odd->due = note.ended + Millis{1'000} * note.retry_after;
  ++client.young.told_to_wait;
}

void Doctor::give_up_waiting(Time now) {
  odd_.for_each([&](OddKey& odd) {
    if (!odd.waits || now < odd.due + waited_for) return;
    odd.waits = false;
    Client& client = client_of(odd.route, odd.scope, now);
    ++client.young.given_up;
    client.note(FindingKind::gives_up, odd.due);
  });
}

// The sample is made smaller when there is too much to look at, and larger when there is little.
void Doctor::tick(Time now) {
  const auto past = std::max<Millis>(now - pace_.ticked, Millis{1});
  if (past >= Millis{1'000}) {
    const std::uint64_t pace = pace_.notes * 1'000 / static_cast<std::uint64_t>(past.count());
    const std::uint64_t mask = watch_.mask();
    if (pace > notes_max && mask < mask_max) watch_.set_mask((mask << 1U) | 1U);
    if (pace < notes_min) watch_.set_mask(mask >> 1U);
    pace_.notes = 0;
    pace_.ticked = now;
  }
  if (late_.size() < pace_.late_keys) {  // a new generation
    const bool soon = now < pace_.late_began + late_keys_kept;
    if (soon && watch_.late_mask() < mask_max) watch_.set_late_mask((watch_.late_mask() << 1U) | 1U);
    pace_.late_began = now;
  }
  pace_.late_keys = late_.size();
  if (now < pace_.swept + minute) return;
  pace_.swept = now;
  give_up_waiting(now);
  watch_.forget_scopes();
  clients_.for_each([&](const Client& client) {
    if (client.odd_at != Time{} && now < client.odd_at + hour) watch_.watch(client.scope);
  });
}

std::vector<Finding> Doctor::shared_texts() const {
  std::vector<Finding> found;
  std::map<std::string, Finding> by_route;
  texts_.for_each([&](const SharedText& text) {
    if (text.scopes.size() < scopes_of_text) return;
    Finding& finding = by_route[text.route->label];
    finding.kind = FindingKind::constant_key;
    finding.route = text.route->label;
    finding.first = finding.count == 0 ? text.first : std::min(finding.first, text.first);
    finding.last = std::max(finding.last, text.last);
    ++finding.count;
    finding.evidence = fmt::format("{} keys were sent by ten callers or more", finding.count);
  });
  found.reserve(by_route.size());
  for (auto& [route, finding] : by_route) found.push_back(std::move(finding));
  return found;
}

std::vector<Finding> Doctor::verdicts(Time now) {
  give_up_waiting(now);
  std::vector<Finding> found = shared_texts();
  clients_.for_each([&](const Client& client) {
    ClientCase of{.route = client.route->label,
                  .scope = short_text(client.scope),
                  .source = client.source,
                  .counts = client.young,
                  .members = client.members,
                  .first = client.first,
                  .last = client.last};
    if (now < client.began + 2 * counted_for) of.counts.add(client.old);
    if (now >= client.began + 2 * counted_for) of.counts = {};
    for (Finding& each : judge(of)) found.push_back(std::move(each));
  });
  return found;
}

}  // namespace semel::telemetry
