// The checks of model.h. An event is checked when it is heard, a record when the store has been opened again.
#include "faults/model.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "faults/events.h"

namespace semel::faults {
namespace {

std::string text(Fence fence) {
  return std::to_string(fence.number) + "/" + std::to_string(fence.owner % 10'000);
}

Record::State state_of(char op) {
  switch (static_cast<Op>(op)) {
    case Op::complete:
      return Record::State::done;
    case Op::unknown:
      return Record::State::unknown;
    case Op::release:
      return Record::State::released;
    case Op::claim:
      break;
  }
  return Record::State::running;
}

char op_of(Record::State state) {
  switch (state) {
    case Record::State::done:
      return static_cast<char>(Op::complete);
    case Record::State::unknown:
      return static_cast<char>(Op::unknown);
    case Record::State::released:
      return static_cast<char>(Op::release);
    case Record::State::running:
    case Record::State::object:  // of ordered claims, which are not made here
      break;
  }
  return static_cast<char>(Op::claim);
}

}  // namespace

void Model::violation(std::uint64_t key, const std::string& what) {
  violations_.push_back("key " + std::to_string(key) + ": " + what);
}

bool Model::tried(const History& history, char op, Fence fence) {
  return std::ranges::find(history.tried, Tried{.op = op, .fence = fence}) != history.tried.end();
}

void Model::hear(const std::string& line) {
  std::istringstream in(line);
  std::string what;
  char detail = 0;
  std::uint64_t key = 0;
  Fence fence;
  in >> what;
  if (what == "said") said_.push_back(line.substr(5));
  if (what != "try" && what != "ok" && what != "held") return;
  in >> detail >> key >> fence.number >> fence.owner;
  if (!in) return violation(key, "a line that cannot be read: " + line);
  next_key_ = std::max(next_key_, key + 1);
  touched_.insert(key);
  if (what == "held") return hear_held(key, static_cast<Record::State>(detail - '0'), fence);
  History& history = keys_[key];
  const bool claim = detail == static_cast<char>(Op::claim);
  if (what == "try") {
    if (claim) history.owners.insert(fence.owner);
    if (!claim) history.tried.push_back({.op = detail, .fence = fence});
    return;
  }
  ++acknowledged_;
  if (claim) return hear_granted(key, fence);
  if (history.granted != fence) return violation(key, "a claim that is over was ended: " + text(fence));
  history.ended = detail;
}

void Model::hear_granted(std::uint64_t key, Fence fence) {
  History& history = keys_[key];
  const Fence before = history.granted;
  if (fence == before && !history.ended) return;  // the same owner asked again
  if (fence.number <= before.number)
    violation(key, "the fence did not grow: " + text(before) + ", then " + text(fence));
  if (!history.owners.contains(fence.owner)) violation(key, "granted to an owner who never asked: " + text(fence));
  if (history.ended == static_cast<char>(Op::complete)) violation(key, "granted again after it was done");
  const bool could_be_free =
      before.number == 0 || taken_over(key) || tried(history, static_cast<char>(Op::release), before);
  if (!could_be_free) violation(key, "two winners: " + text(before) + " holds it, " + text(fence) + " was granted it");
  history.granted = fence;
  history.ended.reset();
}

void Model::hear_held(std::uint64_t key, Record::State state, Fence fence) {
  const History& history = keys_[key];
  if (fence.number < history.granted.number) violation(key, "held by a fence of the past: " + text(fence));
  const bool done = history.ended == static_cast<char>(Op::complete);
  if (done && (state != Record::State::done || fence != history.granted))
    violation(key, "was done and is held otherwise");
}

void Model::check(std::uint64_t key, const std::optional<Record>& stored) {
  const History& history = keys_[key];
  const Fence granted = history.granted;
  if (!stored) {
    if (granted.number > 0) violation(key, "lost: " + text(granted) + " was acknowledged, nothing is stored");
    return;
  }
  const Fence fence = stored->fence;
  if (!history.owners.contains(fence.owner)) violation(key, "stored owner never asked: " + text(fence));
  if (fence.number < granted.number || (fence.number == granted.number && fence != granted)) {
    violation(key, "lost: " + text(granted) + " was acknowledged, " + text(fence) + " is stored");
  }
  const bool same = fence == granted;
  if (history.ended == static_cast<char>(Op::complete) && (!same || stored->state != Record::State::done)) {
    violation(key, "lost: the completion of " + text(granted) + " was acknowledged");
  }
  if (stored->doubted && (!taken_over(key) || fence.number == 1)) {
    violation(key, "doubted though nothing was taken over: " + text(fence));
  }
  // What took over an unknown outcome and was released is unknown again.
  const auto as_stored = [&](Record::State state) {
    return stored->doubted && state == Record::State::released ? Record::State::unknown : state;
  };
  if (same && history.ended && stored->state != as_stored(state_of(*history.ended))) {
    violation(key, std::string("lost: the end '") + *history.ended + "' of " + text(granted) + " was acknowledged");
  }
  const bool released =
      stored->state == as_stored(Record::State::released) && tried(history, static_cast<char>(Op::release), fence);
  if (stored->state != Record::State::running && !released && !tried(history, op_of(stored->state), fence)) {
    violation(key, "ended though nobody tried: " + text(fence));
  }
  if (!same && !taken_over(key) && granted.number > 0 && !tried(history, static_cast<char>(Op::release), granted)) {
    violation(key, "two winners: " + text(granted) + " and " + text(fence));
  }
  if (stored->state == Record::State::done && *stored->response != *response_of(key, fence)) {
    violation(key, "the stored response is not the one that was given: " + text(fence));
  }
}

std::vector<std::uint64_t> Model::take_touched() {
  const std::unordered_set<std::uint64_t> touched = std::exchange(touched_, {});
  return {touched.begin(), touched.end()};
}

std::vector<std::uint64_t> Model::keys() const {
  std::vector<std::uint64_t> all;
  for (const auto& [key, history] : keys_) all.push_back(key);
  return all;
}

}  // namespace semel::faults
