// The oracle's eye on the ledger: which calls may succeed, what they make of a record, and what an acknowledgement must
// find on disk.
//
// The oracle walks through each batch itself, call by call, by rules that are written here a second time, from the
// promises and not from src/core/transition.cc: whatever succeeded must have been allowed, and what is stored in the
// end must be what the calls that succeeded make of what was there before.
#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "sim/ledger.h"
#include "sim/oracle.h"

namespace semel::sim {
namespace {

bool live(const Record& record, Time now) {
  return record.state == Record::State::running && now < record.lease_until;
}

bool same(const SharedResponse& a, const SharedResponse& b) {
  return (a == nullptr) == (b == nullptr) && (a == nullptr || *a == *b);
}

Record claim_of(const Deed& deed, const Key& key) {
  return {.key = key,
          .state = Record::State::running,
          .fence = deed.fence,
          .fingerprint = deed.fingerprint,
          .claimed_at = deed.at,
          .lease_until = deed.at + deed.terms.lease,
          .expires_at = deed.at + deed.terms.ttl,
          .response = nullptr};
}

// A release says nothing about an earlier attempt whose outcome is unknown.
Record::State end_of(Deed::Kind kind, bool doubted) {
  if (kind == Deed::Kind::complete) return Record::State::done;
  return kind == Deed::Kind::unknown || doubted ? Record::State::unknown : Record::State::released;
}

// Whether a claim that replaces this record does so over an outcome that nobody knows.
bool in_doubt(const Record& before) {
  return before.doubted || before.state == Record::State::unknown || before.state == Record::State::running;
}

}  // namespace

Time gone_at(const Record& record) {
  return record.state == Record::State::running ? std::max(record.expires_at, record.lease_until) : record.expires_at;
}

Deed deed_of(const store::StoreCall& call) {
  Deed deed{.kind = Deed::Kind::sweep, .id = call.key.id, .fence = {}, .fingerprint = {}, .terms = {}, .response = {}};
  if (const auto* claim = std::get_if<store::ClaimCall>(&call.request)) {
    deed.kind = Deed::Kind::claim;
    deed.fingerprint = claim->fingerprint;
    deed.terms = claim->terms;
  } else if (const auto* renew = std::get_if<store::RenewCall>(&call.request)) {
    deed.kind = Deed::Kind::renew;
    deed.fence = renew->fence;
    deed.lease = renew->lease;
  } else if (const auto* complete = std::get_if<store::CompleteCall>(&call.request)) {
    deed.kind = complete->response == nullptr ? Deed::Kind::unknown : Deed::Kind::complete;
    deed.fence = complete->fence;
    deed.response = complete->response;
  } else if (const auto* release = std::get_if<store::ReleaseCall>(&call.request)) {
    deed.kind = Deed::Kind::release;
    deed.fence = release->fence;
  }
  return deed;
}

struct Answered {
  bool operator()(const auto& request) const { return request.answer.has_value(); }
  bool operator()(store::InboxCall* const& request) const { return request->answer.has_value(); }
};

void judge_said(Deed& deed, const store::StoreCall& call) {
  if (const auto* claim = std::get_if<store::ClaimCall>(&call.request)) {
    const auto* granted = claim->answer ? std::get_if<Granted>(&*claim->answer) : nullptr;
    deed.granted = granted != nullptr;
    if (granted != nullptr) deed.fence = granted->fence;
  } else {
    deed.granted = std::visit(Answered{}, call.request);
  }
}

// Order: what the calls of a batch make of the events of one object, one after the other.
void Oracle::judged(const Deeds& deeds) {
  std::map<int, Record> records;  // of ordered keys, as they are when the next call is judged
  for (std::size_t i = 0; i < world_.setup.plans.size(); ++i) {
    const Record* record = ledger_.durable(world_.setup.plans[i].key.id);
    if (world_.setup.plans[i].order != nullptr && record != nullptr) records.emplace(static_cast<int>(i), *record);
  }
  for (const Deed& deed : deeds) {
    const int key = world_.index_of(deed.id);
    if (!deed.granted || key < 0 || world_.plan(key).order == nullptr) continue;
    const auto found = records.find(key);
    const bool own = found != records.end() && found->second.fence == deed.fence;
    if (deed.kind == Deed::Kind::claim && !own) {
      has_its_turn(key, deed, records);
      records.insert_or_assign(key, claim_of(deed, world_.plan(key).key));
    } else if (own && deed.kind == Deed::Kind::renew) {
      found->second.lease_until = deed.at + deed.lease;
    } else if (own && deed.kind != Deed::Kind::claim) {
      found->second.state = end_of(deed.kind, found->second.doubted);
    }
  }
}

void Oracle::has_its_turn(int key, const Deed& claim, const std::map<int, Record>& records) {
  ++world_.stats.ordered_claims;
  for (const int other : world_.siblings(key)) {
    const auto found = records.find(other);
    if (found == records.end()) continue;
    const Record& record = found->second;
    expect(!live(record, claim.at), key, "order: events of one object run one at a time");
    const bool newer = world_.plan(key).order->stamp < world_.plan(other).order->stamp;
    const bool done = record.state == Record::State::done && claim.at < gone_at(record);
    expect(!newer || !done, key, "order: no event runs that is older than one that has completed");
  }
}

void Oracle::changed(const Record* before, const store::embedded::Change& change, const Deeds& deeds) {
  const int key = world_.index_of(change.id);
  if (key < 0) return;  // of an object: judged by what its events may do
  if (before != nullptr) remember(keeper(key), *before, world_.now());  // readers saw it until now
  std::optional<Record> record;
  if (before != nullptr) record = *before;
  for (const Deed& deed : deeds) {
    if (deed.granted && deed.id == change.id) walk(key, record, deed);
  }
  if (!change.record) {
    world_.note(key, 0, "ledger: erased", before == nullptr ? Fence{} : before->fence);
    expect(!record || deeds.back().at >= gone_at(*record), key, "a sweep deletes only what has expired");
    return;
  }
  constexpr const char* names[] = {"?", "ledger: running", "ledger: done", "ledger: unknown", "ledger: released"};
  world_.note(key, 0, names[static_cast<std::size_t>(change.record->state)], change.record->fence);
  expect(record == change.record, key, "what is stored is what the calls that succeeded make of it");
}

// What one call that succeeded makes of `record`, if it was allowed to.
void Oracle::walk(int key, std::optional<Record>& record, const Deed& deed) {
  if (record) remember(keeper(key), *record, deed.at);
  if (record && deed.at >= gone_at(*record)) record.reset();
  const bool own = record && record->fence == deed.fence;
  if (deed.kind == Deed::Kind::claim) {
    if (own && live(*record, deed.at) && deed.terms.owner == deed.fence.owner) return;  // asked again, told again
    claimed(key, record ? &*record : nullptr, deed);
    const bool doubted = record && in_doubt(*record);
    record = claim_of(deed, world_.plan(key).key);
    record->doubted = doubted;
    return;
  }
  if (own && deed.kind != Deed::Kind::renew && record->state == end_of(deed.kind, record->doubted)) return;  // repeated
  expect(own && live(*record, deed.at), key,
         "G6: a claim is changed only by its holder, only while its lease is alive, and never after its end");
  if (!own) return;
  if (deed.kind == Deed::Kind::renew) {
    record->lease_until = deed.at + deed.lease;
    return;
  }
  record->state = end_of(deed.kind, record->doubted);
  record->response = deed.response;
  if (record->state == Record::State::done && !keeper(key).lives.empty()) keeper(key).lives.back().done = deed.response;
}

// `before` is what stood in the way of the claim; nothing if the key was free of any record.
void Oracle::claimed(int key, const Record* before, const Deed& claim) {
  Keeper& kept = keeper(key);
  expect(claim.fence.owner == claim.terms.owner, key, "a fence carries its owner");
  if (before == nullptr || kept.lives.empty()) {
    expect(claim.fence.number == 1, key, "G6: a new life begins with fence 1");
    kept.lives.push_back(
        {.fences = {claim.fence}, .fingerprint = claim.fingerprint, .doubted = {}, .done = nullptr, .attempts = {}});
    ++world_.stats.lives;
    return;
  }
  expect(claim.fence.number == before->fence.number + 1, key, "G6: fences grow by one within a life");
  expect(before->state != Record::State::done, key, "G1: no claim on a completed key before it expires");
  expect(!live(*before, claim.at), key, "G1: no claim on a key whose holder is alive");
  if (before->state == Record::State::unknown || before->state == Record::State::running) {
    const Policy::OnUnknown policy = world_.plan(key).policy.on_unknown;
    expect(policy != Policy::OnUnknown::hold, key, "G5: under hold an unknown outcome is never claimed over");
    expect(policy != Policy::OnUnknown::probe || claim.terms.only_over == before->fence, key,
           "G5: under probe only the attempt that was asked about is replaced");
    expect(claim.fingerprint == before->fingerprint, key, "G4: another request never replaces an unknown outcome");
    kept.lives.back().doubted = before->fingerprint;
  }
  const std::optional<Fingerprint>& doubted = kept.lives.back().doubted;
  expect(!doubted || *doubted == claim.fingerprint, key, "G4: what was once unknown stays its request's");
  kept.lives.back().fences.push_back(claim.fence);
  kept.lives.back().fingerprint = claim.fingerprint;
}

// What was acknowledged is on disk, or was and has given way since (to the next claim, or to its expiry).
void Oracle::acknowledged(const Deed& deed) {
  const int key = world_.index_of(deed.id);
  if (!deed.granted || key < 0 || deed.kind == Deed::Kind::renew) return;
  const Record* record = ledger_.durable(deed.id);
  const bool stands = record != nullptr && record->fence == deed.fence;
  const Life* life = life_with(key, deed.fence);
  expect(life != nullptr, key, "G2: a claim is durable before it is acknowledged");
  if (life == nullptr) return;
  if (deed.kind == Deed::Kind::claim) {
    expect(!stands || record->state == Record::State::running, key, "G2: a claim that is acknowledged has not ended");
  } else if (deed.kind == Deed::Kind::complete) {
    expect(same(life->done, deed.response), key, "G2: a response is durable before it is acknowledged");
  } else {
    expect(!stands || record->state == end_of(deed.kind, record->doubted), key,
           "G2: an end is durable before it is acknowledged");
  }
}

void Oracle::remember(Keeper& keeper, const Record& record, Time until) {
  const auto raise = [&](std::map<Digest, Time>& times, Time time) {
    Time& last = times[record.fingerprint.digest];
    last = std::max(last, time);
  };
  const Time end = std::min(until, gone_at(record));
  raise(keeper.present_until, end);
  if (record.state == Record::State::running) raise(keeper.running_until, std::min(end, record.lease_until));
  const bool lapsed = record.state == Record::State::running && end >= record.lease_until;
  if (record.state == Record::State::unknown || lapsed) raise(keeper.unknown_until, end);
}

}  // namespace semel::sim
