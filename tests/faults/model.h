// What must be true of a store, worked out from what the hammer was told.
//
//   an answer survives       a claim that was granted is there, with its fence or a later one; a completion is there
//                            with the same bytes, for ever
//   one winner               fences only grow; nobody is granted a key that is done, or that is held by somebody who
//                            neither tried to release it nor could lapse
//   nothing from nowhere     every stored owner tried to claim, every stored end was tried
//
// A call without an answer (killed, or refused by the disk) may have been applied or not; both are right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <semel/store.h>

namespace semel::faults {

class Model {
 public:
  // Takes one line of the hammer; what it says is checked against all that was said before.
  void hear(const std::string& line);

  // Holds the record that is stored under a key against what is known of it.
  void check(std::uint64_t key, const std::optional<Record>& stored);

  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  // Keys that were touched since this was last called; all keys.
  std::vector<std::uint64_t> take_touched();
  [[nodiscard]] std::vector<std::uint64_t> keys() const;

  [[nodiscard]] std::size_t acknowledged() const { return acknowledged_; }
  [[nodiscard]] std::uint64_t next_key() const { return next_key_; }
  // Errors that the store gave, without those of single keys; emptied by the call.
  std::vector<std::string> take_said() { return std::exchange(said_, {}); }

 private:
  struct Tried {
    char op;
    Fence fence;
    bool operator==(const Tried&) const = default;
  };
  struct History {
    Fence granted;                             // the last claim that was acknowledged
    std::optional<char> ended;                 // how, if that was acknowledged, too
    std::unordered_set<std::uint64_t> owners;  // who tried to claim
    std::vector<Tried> tried;                  // ends of claims
  };

  void hear_granted(std::uint64_t key, Fence fence);
  void hear_held(std::uint64_t key, Record::State state, Fence fence);
  [[nodiscard]] static bool tried(const History& history, char op, Fence fence);
  void violation(std::uint64_t key, const std::string& what);

  std::unordered_map<std::uint64_t, History> keys_;
  std::unordered_set<std::uint64_t> touched_;
  std::vector<std::string> violations_;
  std::vector<std::string> said_;
  std::size_t acknowledged_ = 0;
  std::uint64_t next_key_ = 0;
};

}  // namespace semel::faults
