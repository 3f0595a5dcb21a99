// A batch: calls that go to the server together and end with a beat.
//
// On a single server all claims of a batch on the same terms are one call of a script, and so are all ends: to begin a
// script costs the server more than to judge a key. In a cluster each call goes alone, so that those whose keys are on
// their way to another server hold up nobody.
//
// The beat writes the number of the batch and answers the one before it. So the batch has written something, also if
// its calls have only read, and WAIT covers what it has read; and a server that has lost a batch meanwhile, or is
// another one, is noticed before anybody is told anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "store/call.h"
#include "store/redis/beats.h"
#include "store/redis/buckets.h"
#include "store/redis/cluster_map.h"
#include "store/redis/layout.h"
#include "store/redis/resp.h"
#include "store/redis/scripts.h"
#include "store/waiting.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::redis {

using ScriptHashes = std::array<std::string, script_count>;

// A record whose answer lies beside it and is being fetched.
struct MissingAnswer {
  StoredValue value;
  Time at;  // when the record was read
};

// A call on its way. If it is not answered by `deadline`, nobody knows whether it was applied.
struct RedisEntry {
  std::unique_ptr<Waiting> waiting;
  Time deadline;
  std::string token{};                      // random, of a reopening
  std::optional<MissingAnswer> fetching{};  // set if only the answer is missing
  bool whole = false;                       // a large answer goes into the record: there is no room beside it
  std::size_t tries = 0;                    // how often its answer was not where it should be
  std::size_t bucket = 0;                   // where its record lies
  bool asking = false;                      // it goes to a server that is being given its slot
  std::optional<Redirection> detour{};      // where a server has sent it
  std::size_t hops = 0;                     // how often
  Time not_before{};                        // it waits until then

  [[nodiscard]] StoreCall& call() const { return *waiting->call; }
};
using RedisQueue = std::deque<RedisEntry>;

// What the batches of a store remember: the records that were claimed here and run, which event each object was granted
// last, and how far the index was swept.
struct BatchMemory {
  Buckets buckets{};
  std::unordered_map<std::uint64_t, std::string> claimed{};  // by owner: claimed_value()
  std::unordered_map<Key, Digest> latest{};                  // by object
  std::unordered_map<std::size_t, std::size_t> swept{};      // by bucket

  void remember(const Key& object, const Digest& event);
  void remember(std::uint64_t owner, std::string value);
  // A record as this fence has claimed it; null if that is not known. It may be that of another key, if an owner has
  // claimed several: whoever uses it compares it with the one that is there.
  [[nodiscard]] const std::string* find(const Fence& fence) const;
};

// Calls that go as one: a single one of any kind, or claims on the same terms, or ends with small answers.
using CallGroup = std::span<RedisEntry* const>;
// Whether the call may be joined to others, and to this one.
bool is_sociable(const RedisEntry& entry);
bool may_join(const RedisEntry& entry, const RedisEntry& other);

// Claims and looks. Not so the end of a claim: what it reports has happened.
bool is_impatient(const RedisEntry& entry);

// Adds the commands of a group, and returns how many replies they have.
std::size_t append_calls(std::string& out, const ScriptHashes& hashes, CallGroup group, const BatchMemory& memory);

enum class Fate : std::uint8_t {
  answered,
  missed,  // answered, and somebody would miss it if the server lost it
  again,   // it is not settled
  later,   // the same, and it cannot be before its slot has moved
  elsewhere,
  reconnect,
};
// Reads the replies to a call that went alone, or one of the list that a group was answered with. `trouble` is set if
// the server says that it takes no writes for now.
Fate read_call(RedisEntry& entry, std::span<RespValue> replies, BatchMemory& memory, std::optional<Error>& trouble);

class CallBatch {
 public:
  // Takes from `queue`, which is not empty, what can go together.
  CallBatch(RedisQueue& queue, BatchMemory& memory);

  // What is sent: the calls, the beat, and WAIT if `replicas` is not 0.
  struct Ending {
    std::string beat_name;
    BeatBook::Next beat;
    std::size_t replicas = 0;
    Millis patience{1'000};  // of WAIT
  };
  std::string encode(const ScriptHashes& hashes, const Ending& ending);
  [[nodiscard]] std::size_t replies() const { return replies_; }
  [[nodiscard]] std::size_t calls() const { return entries_.size(); }
  [[nodiscard]] bool is_large() const;  // so that it may take long on a slow line
  [[nodiscard]] Time deadline() const;  // of the most patient call that has not been given up

  enum class Verdict : std::uint8_t {
    told,       // the answers hold
    not_yet,    // too few replicas have it: nobody is told, everything goes again
    reconnect,  // this server cannot be used (any more), or lacks our scripts: the same, over a new connection
  };
  struct Outcome {
    Verdict verdict = Verdict::told;
    std::vector<Waiting> answered{};
    std::vector<RedisEntry> again{};
    std::vector<RedisEntry> later{};
    std::vector<RedisEntry> elsewhere{};
    std::optional<std::uint64_t> found{};  // the number that the beat has written over, if it is not the expected one
    std::size_t effects = 0;               // calls that somebody would miss
    std::optional<Error> trouble{};        // what the server said, if it will not take claims for now
  };
  // `replies` are as many as replies() says.
  Outcome read(std::vector<RespValue>& replies, const Ending& ending);

  // Refuses the calls that do not wait for a silent server, and hands out who made them. The others stay.
  std::vector<Waiting> give_up(const Error& error);

  // Hands out the calls that have not been given up, if there is nothing to read.
  [[nodiscard]] std::vector<RedisEntry> take();

 private:
  struct Group {
    std::vector<RedisEntry*> entries;
    std::size_t replies = 0;
  };
  void form_groups();
  void sort_out(RedisEntry& entry, Fate fate, Outcome& outcome);

  BatchMemory& memory_;
  std::vector<RedisEntry> entries_;
  std::vector<Group> groups_;
  std::size_t replies_ = 0;
  std::size_t body_bytes_ = 0;
};

}  // namespace semel::store::redis
