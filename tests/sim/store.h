// The store of the simulated world: calls travel to it as letters, gather in a queue, and are judged in batches.
//
//   Port (one per process, a Store) ──letter──▶ StoreServer: queue ──Batch──▶ SimLedger
//         ◀──────────────answer─────────────────┘
//
// Inside one process letters arrive at once and none is lost. Between nodes a letter or its answer may be lost or late;
// the caller then gets Code::unavailable after its time-out, whatever has become of the call. Some batches are judged
// and committed at once, by run_batch(); others stay open while time passes and more calls arrive.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/ledger.h"
#include "sim/oracle.h"
#include "sim/world.h"
#include "store/embedded/batch.h"
#include <semel/store.h>

namespace semel::sim {

struct Letter {
  store::StoreCall call;
  std::optional<std::uint64_t> absent_at;  // as in BatchCall
  Deed deed;
  Time sent_at;
  Executor executor;
  std::move_only_function<void()> resume;
  bool answered = false;  // the caller goes on, with what the store said or without it
  bool lost = false;      // without it
};

class StoreServer {
 public:
  StoreServer(World& world, SimLedger& ledger, Oracle& oracle);

  // Called when a commit ends the process that the store runs in.
  void on_crash(std::function<void()> crash) { crash_ = std::move(crash); }

  void post(std::shared_ptr<Letter> letter);
  // Whether there is something to do for step(): to judge some of the calls that wait.
  [[nodiscard]] bool ready() const { return up_ && !busy_ && !queue_.empty(); }
  void step();

  void stop();
  void start();
  [[nodiscard]] bool up() const { return up_; }
  [[nodiscard]] bool idle() const { return queue_.empty() && !busy_; }

  // Answers a claim that what is durable settles, as the embedded store does without its committer: false if it does
  // not. Then `absent_at` is set if there was nothing.
  bool settled(const Key& key, store::ClaimCall& request, std::optional<std::uint64_t>& absent_at);

  // Lets the caller go on: without an answer if it is lost.
  void answer(const std::shared_ptr<Letter>& letter, bool lost);

 private:
  void forget_stale();
  std::size_t take();
  Deeds deeds();
  void commit();
  void acknowledge();
  void arrive(const std::shared_ptr<Letter>& letter);
  void reply(const std::shared_ptr<Letter>& letter);
  void time_out(const std::shared_ptr<Letter>& letter);

  World& world_;
  SimLedger& ledger_;
  Oracle& oracle_;
  std::function<void()> crash_;
  std::deque<std::shared_ptr<Letter>> queue_;
  std::vector<std::shared_ptr<Letter>> judging_;           // the batch that is being judged or committed
  std::unique_ptr<store::embedded::Batch> open_;           // takes more calls for a while, as the committer does
  std::unique_ptr<store::embedded::RecentWrites> recent_;  // in some worlds
  std::uint64_t run_ = 0;  // which life of the server: answers of an earlier one are lost
  bool up_ = true;
  bool busy_ = false;
};

// One process's way to the store.
class Port : public Store {
 public:
  Port(World& world, StoreServer& server, Oracle& oracle, std::uint64_t process);

  Async<Claim> claim(Key key, Fingerprint fingerprint, Terms terms) override;
  Async<void> renew(Key key, Fence fence, Millis lease) override;
  Async<void> complete(Key key, Fence fence, SharedResponse response) override;
  Async<void> release(Key key, Fence fence) override;
  Async<std::size_t> sweep(std::size_t limit) override;

  // Whose coroutine is about to call once().
  void visited_by(std::shared_ptr<Visit> visit) { visit_ = std::move(visit); }
  // The process has ended: every call, also those to come, is answered with an error at once.
  void hang_up();

 private:
  Task<std::shared_ptr<Letter>> send(store::StoreCall call, std::optional<std::uint64_t> absent_at = std::nullopt);

  World& world_;
  StoreServer& server_;
  Oracle& oracle_;
  const std::uint64_t process_;
  std::shared_ptr<Visit> visit_;
  std::deque<std::weak_ptr<Letter>> open_;
  bool dead_ = false;
};

}  // namespace semel::sim
