// The oracle: knows the truth of the simulated world and holds what happens against the promises.
//
// It looks at four places: every durable change of the ledger, every acknowledgement of the store, every attempt and
// effect, and every answer that a caller is told. A "life" of a key goes from the claim that finds it free of any
// record to its expiry; it may hold several claims (fences), each of which starts at most one attempt.
//
// Which effects are allowed in one life:
//   hold    one, ever. A second attempt starts only if the one before was released, and one that is released had none.
//   probe   one, ever, because the probe of this world tells the truth: it finds the effect, or seals the attempt so
//           that it can have none later, or says that it cannot tell.
//   retry   one for each attempt. A further attempt (the next fence) starts only if the one before was released (it had
//           no effect and has none later), or if its outcome was unknown at that moment: its lease had lapsed, or it
//           was completed as unknown. Only an attempt of unknown outcome may thus have an effect beside that of
//           another, and it may have it late, when its successor is running or done.
// An effect belongs to the life in which its attempt was claimed, whenever it happens.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/world.h"
#include "store/embedded/batch.h"
#include <semel/once.h>

namespace semel::sim {

class SimLedger;

// What one call asked for, when it was judged, and what the judge said (which holds only if the commit succeeds).
struct Deed {
  enum class Kind : std::uint8_t { claim, renew, complete, unknown, release, sweep } kind;
  Digest id{};
  Fence fence;  // of a claim: what was granted
  Fingerprint fingerprint;
  Terms terms;
  Millis lease{0};
  SharedResponse response;
  Time at{};
  bool granted = false;
};
using Deeds = std::vector<Deed>;  // of one batch, in order
Deed deed_of(const store::StoreCall& call);
void judge_said(Deed& deed, const store::StoreCall& call);

struct Attempt {
  int key;
  std::size_t life;
  Fence fence;
  std::uint64_t process;
  Time started_at;
  bool ended = false;
  bool sealed = false;      // a probe was told that it has no effect: it never will have one
  std::uint64_t nonce = 0;  // of its effect; 0: none yet
};

// One call of once() by a client.
struct Visit {
  std::uint64_t id;
  int key;
  Fingerprint fingerprint;
  std::uint64_t process;
  Time started_at;
  int tries_left;
  bool final_round = false;
  bool open = true;
  bool waiting = false;  // its claim found a running holder, and it has not asked again since
  std::shared_ptr<Attempt> attempt = nullptr;
};

class Oracle {
 public:
  Oracle(World& world, const SimLedger& ledger);

  // The first promise that was broken, with the key and what happened to it.
  [[nodiscard]] bool broken() const { return !verdict_.empty(); }
  [[nodiscard]] const std::string& verdict() const { return verdict_; }
  void expect(bool holds, int key, const char* promise);

  // The ledger and the store. A batch is shown as a whole before its changes are.
  void judged(const Deeds& deeds);
  void changed(const Record* before, const store::embedded::Change& change, const Deeds& deeds);
  void acknowledged(const Deed& deed);

  // Attempts and their effects.
  std::shared_ptr<Attempt> started(int key, Fence fence, const Fingerprint& fingerprint, std::uint64_t process);
  void effect(Attempt& attempt, std::uint64_t nonce);
  // An answer with this nonce exists, for this key alone.
  void issued(int key, std::uint64_t nonce) { nonces_[nonce] = key; }
  // What a truthful probe finds out about the life that `key` is in: an effect, or that there is none, now or later.
  std::uint64_t probed(int key);

  // Callers.
  void asks(std::uint64_t owner, const std::shared_ptr<Visit>& visit);
  void hears(std::uint64_t owner, const Result<Claim>& claim);
  void told(Visit& visit, const Answer& answer);
  void lost(Visit& visit);

  // Time is about to move on, and nobody who can run has anything to do. `stopped` are the processes that cannot.
  void quiet(const std::vector<std::uint64_t>& stopped);
  // The process is gone; what it was doing has no more consequences of its own.
  void gone(std::uint64_t process);

 private:
  struct Life {
    std::vector<Fence> fences;
    Fingerprint fingerprint;             // of the last claim
    std::optional<Fingerprint> doubted;  // of the request whose outcome was once unknown
    SharedResponse done;
    std::vector<std::shared_ptr<Attempt>> attempts;
  };
  struct Keeper {
    std::vector<Life> lives;
    std::map<Digest, Time> present_until;  // by fingerprint: when a record with it was last seen to be replaced
    std::map<Digest, Time> running_until;  // likewise, a live claim
    std::map<Digest, Time> unknown_until;  // likewise, an unknown outcome
  };

  void walk(int key, std::optional<Record>& record, const Deed& deed);
  void has_its_turn(int key, const Deed& claim, const std::map<int, Record>& records);
  bool sibling_ran(int key, Time since);
  void overtaken(const Visit& visit);
  void claimed(int key, const Record* before, const Deed& claim);
  void remember(Keeper& keeper, const Record& record, Time until);
  bool was(const std::map<Digest, Time> Keeper::* what, int key, const Fingerprint& fingerprint, Time since);
  bool other_was_present(int key, const Fingerprint& fingerprint, Time since);
  void refused(const Visit& visit, const Refused& refused);
  void kept(const Visit& visit, const Response& response, const Life* life);
  const Life* life_with(int key, Fence fence) const;
  Keeper& keeper(int key) { return keepers_[static_cast<std::size_t>(key)]; }

  World& world_;
  const SimLedger& ledger_;
  std::vector<Keeper> keepers_;
  std::map<std::uint64_t, std::shared_ptr<Attempt>> running_;  // by number
  std::map<std::uint64_t, std::shared_ptr<Visit>> visits_;     // by id, while they are open
  std::map<std::uint64_t, std::weak_ptr<Visit>> owners_;
  std::map<std::uint64_t, std::uint64_t> woken_;  // waiting visits whose holder has ended → process
  std::map<std::uint64_t, int> nonces_;           // whose answer it is
  std::uint64_t attempts_ = 0;
  std::string verdict_;
};

// When the record no longer counts: its expiry, but never under a live claim.
Time gone_at(const Record& record);

}  // namespace semel::sim
