// Collects the attempts of one key (who was granted what, and how it ended), then holds every answer against them.

#include "store/key_history.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace semel::test {
namespace {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();

// One attempt: the claim with this number. It may have ended as soon as `end_begun`, and has surely ended by
// `end_ended`.
struct Attempt {
  std::uint64_t owner = 0;
  std::uint64_t grant_begun = never;
  std::uint64_t grant_ended = never;
  bool took_over = false;
  bool doubted = false;  // it, or one before it, took over an unknown outcome: a release makes the key unknown again
  std::optional<Deed> end;
  std::uint64_t end_begun = never;
  std::uint64_t end_ended = never;
  std::set<std::uint64_t> tags;  // of the completions that succeeded
};

bool is_end(Deed deed) {
  return deed == Deed::complete || deed == Deed::complete_unknown || deed == Deed::release;
}

bool is_claim(Deed deed) {
  return deed == Deed::claim || deed == Deed::claim_over;
}

class Checker {
 public:
  explicit Checker(std::span<const Event> history) : history_(history) {}

  std::vector<std::string> check() {
    for (const Event& event : history_) collect_grant(event);
    for (auto& [number, attempt] : attempts_) collect_ends(number, attempt);
    for (const Event& event : history_) look_for_owner(event);
    check_succession();
    for (const Event& event : history_) check_event(event);
    return std::move(faults_);
  }

 private:
  void fault(std::uint64_t number, const char* what) {
    faults_.push_back("attempt " + std::to_string(number) + ": " + what);
  }

  // The attempt that this fence means, if it was ever granted.
  Attempt* find(Fence fence) {
    const auto found = attempts_.find(fence.number);
    return found == attempts_.end() || found->second.owner != fence.owner ? nullptr : &found->second;
  }

  void collect_grant(const Event& event) {
    if (!is_claim(event.deed) || event.reply != Reply::granted) return;
    Attempt& attempt = attempts_[event.fence.number];
    if (attempt.grant_begun != never) fault(event.fence.number, "granted twice");
    attempt.owner = event.fence.owner;
    attempt.grant_begun = event.begun;
    attempt.grant_ended = event.ended;
    attempt.took_over = event.deed == Deed::claim_over;
  }

  void look_for_owner(const Event& event) {
    if (!is_end(event.deed) || event.reply != Reply::ok || find(event.fence) != nullptr) return;
    fault(event.fence.number, "ended with a fence that was never granted");
  }

  // Called in the order of the numbers, because what a release means depends on the attempt before.
  void collect_ends(std::uint64_t number, Attempt& attempt) {
    const auto before = attempts_.find(number - 1);
    attempt.doubted =
        before != attempts_.end() && (before->second.doubted || before->second.end == Deed::complete_unknown);
    for (const Event& event : history_) {
      if (!is_end(event.deed) || event.reply != Reply::ok || find(event.fence) != &attempt) continue;
      const Deed end = meant(event.deed, attempt);
      if (attempt.end && *attempt.end != end) fault(number, "ended in two ways");
      attempt.end = end;
      attempt.end_begun = std::min(attempt.end_begun, event.begun);
      attempt.end_ended = std::min(attempt.end_ended, event.ended);
      if (end == Deed::complete) attempt.tags.insert(event.tag);
    }
  }

  static Deed meant(Deed deed, const Attempt& attempt) {
    return deed == Deed::release && attempt.doubted ? Deed::complete_unknown : deed;
  }

  // Numbers grow by one from 1, and each attempt but the first follows one that left the key free.
  void check_succession() {
    std::uint64_t expected = 1;
    const Attempt* before = nullptr;
    for (const auto& [number, attempt] : attempts_) {
      if (number != expected) fault(number, "follows a number that was never granted");
      expected = number + 1;
      if (before != nullptr) {
        if (before->end_begun > attempt.grant_ended) fault(number, "granted while the one before was running");
        if (before->end == Deed::complete) fault(number, "granted after a completion");
        if (before->end == Deed::complete_unknown && !attempt.took_over) {
          fault(number, "granted over an unknown outcome that was to stand");
        }
      }
      before = &attempt;
    }
  }

  void check_event(const Event& event) {
    if (is_claim(event.deed)) {
      if (event.reply != Reply::granted) check_held(event);
    } else if (event.reply == Reply::ok) {
      check_ok(event);
    } else {
      check_fenced(event);
    }
  }

  void check_held(const Event& event) {
    const std::uint64_t number = event.fence.number;
    const Attempt* holder = find(event.fence);
    if (holder == nullptr) return fault(number, "told as the holder, but never granted");
    if (holder->grant_begun > event.ended) fault(number, "told as the holder before it was claimed");
    if (event.reply == Reply::held_running) {
      if (holder->end_ended < event.begun) fault(number, "told as running after it had ended");
      return;
    }
    const Deed end = event.reply == Reply::held_done ? Deed::complete : Deed::complete_unknown;
    if (holder->end != end || holder->end_begun > event.ended) fault(number, "told an end that it did not have");
    if (event.reply == Reply::held_done) {
      if (!holder->tags.contains(event.tag)) fault(number, "a response that nobody gave");
      if (told_.emplace(number, event.tag).first->second != event.tag) fault(number, "two responses for one attempt");
    } else {
      if (event.deed == Deed::claim_over) fault(number, "an unknown outcome stood against a take-over");
      const auto next = attempts_.find(number + 1);
      if (next != attempts_.end() && next->second.grant_ended < event.begun) {
        fault(number, "told as the holder after it had been taken over");
      }
    }
  }

  void check_ok(const Event& event) {
    const Attempt* attempt = find(event.fence);
    if (attempt == nullptr) return fault(event.fence.number, "obeyed a fence that was never granted");
    if (event.deed == Deed::renew && attempt->end_ended < event.begun) {
      fault(event.fence.number, "renewed after it had ended");
    }
    const auto next = attempts_.find(event.fence.number + 1);
    if (next != attempts_.end() && next->second.grant_ended < event.begun) {
      fault(event.fence.number, "obeyed after the next one was granted");
    }
  }

  // With a fence that was granted, a refusal needs a reason: the attempt had ended, in another way than is asked for
  // now (or somebody else has the key already, which needs such an end as well).
  void check_fenced(const Event& event) {
    const Attempt* attempt = find(event.fence);
    if (attempt == nullptr) return;
    const auto next = attempts_.find(event.fence.number + 1);
    const bool succeeded = next != attempts_.end() && next->second.grant_begun < event.ended;
    const bool ended_otherwise =
        attempt->end && *attempt->end != meant(event.deed, *attempt) && attempt->end_begun < event.ended;
    if (!succeeded && !ended_otherwise) fault(event.fence.number, "fenced without a reason");
  }

  std::span<const Event> history_;
  std::map<std::uint64_t, Attempt> attempts_;    // by number
  std::map<std::uint64_t, std::uint64_t> told_;  // number → the tag that was replayed for it
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> faults(std::span<const Event> history) {
  return Checker(history).check();
}

}  // namespace semel::test
