// The rules by which a hammer run is judged: one function per promise.
#include "cli/hammer/verdict.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace semel::cli {
namespace {

constexpr std::size_t examples_max = 5;
constexpr std::uint16_t conflict = 409;
constexpr std::uint16_t unprocessable = 422;
constexpr std::uint16_t too_many = 429;

using OfKey = Tally::OfKey;

std::string keys_text(std::uint64_t count) {
  return count == 1 ? "1 key" : grouped(count) + " keys";
}

// Appends a finding if any key has the fault. `what` makes the sentence from the number of keys and the first of them.
void add(std::vector<Broken>& broken, const Tally& tally, Promise promise,
         const std::function<bool(const OfKey&)>& faulty,
         const std::function<std::string(std::uint64_t, const OfKey&)>& what) {
  std::uint64_t count = 0;
  std::vector<std::size_t> examples;
  for (std::size_t key = 0; key < tally.keys().size(); ++key) {
    if (!faulty(tally.keys()[key])) continue;
    ++count;
    if (examples.size() < examples_max) examples.push_back(key);
  }
  if (count == 0) return;
  std::string sentence = what(count, tally.keys()[examples.front()]);
  broken.push_back({.promise = promise, .what = std::move(sentence), .keys = std::move(examples)});
}

// Whether the endpoint let the key run at all: it got a success, or any stored answer.
bool got_through(const OfKey& key) {
  return key.first_runs > 0 || key.replayed;
}

}  // namespace

Meaning meaning(const Seen& seen) {
  if (seen.status >= 500) return Meaning::failed;
  if (seen.replayed) return Meaning::replay;
  if (seen.status < 400) return Meaning::first_run;
  if (seen.status == too_many || (seen.status == conflict && !seen.retry_never)) return Meaning::again;
  return seen.status == unprocessable ? Meaning::reused : Meaning::refused;
}

Meaning Tally::answered(std::size_t key, Letter letter, const Seen& seen) {
  const Meaning what = meaning(seen);
  switch (what) {
    case Meaning::first_run:
      ++counts_.first_runs;
      break;
    case Meaning::replay:
      ++counts_.replays;
      break;
    case Meaning::again:
      ++counts_.again;
      return what;
    case Meaning::reused:
      ++counts_.reused;
      break;
    case Meaning::refused:
      ++counts_.refused;
      break;
    case Meaning::failed:
      ++counts_.failed;
      break;
  }
  OfKey& facts = keys_[key];
  ++ended_;
  ++facts.ended;
  if (what == Meaning::failed) {
    facts.failed = true;
  } else if (letter == Letter::other) {
    if (what == Meaning::reused) return what;
    if (facts.others_taken++ == 0) facts.other_status = seen.status;
  } else {
    if (facts.status == 0) {
      facts.status = seen.status;
      facts.body = seen.body;
    }
    facts.differs |= facts.status != seen.status || facts.body != seen.body;
    facts.replayed |= what == Meaning::replay;
    facts.first_runs += what == Meaning::first_run ? 1 : 0;
  }
  return what;
}

std::string_view name(Promise promise) {
  switch (promise) {
    case Promise::ran_once:
      return "ran-once";
    case Promise::same_answer:
      return "same-answer";
    case Promise::reuse_refused:
      return "reuse-refused";
    case Promise::no_failure:
      return "no-failure";
    case Promise::got_through:
      return "got-through";
    case Promise::all_ended:
      return "all-ended";
    case Promise::effects:
      break;
  }
  return "effects";
}

std::vector<Broken> judge(const Tally& tally, const std::optional<Effects>& effects) {
  std::vector<Broken> broken;
  add(
      broken, tally, Promise::ran_once, [](const OfKey& key) { return key.first_runs > 1; },
      [](std::uint64_t count, const OfKey& first) {
        return fmt::format("{} ran more than once (the first of them {} times)", keys_text(count),
                           grouped(first.first_runs));
      });
  add(
      broken, tally, Promise::same_answer, [](const OfKey& key) { return key.differs; },
      [](std::uint64_t count, const OfKey&) { return keys_text(count) + " got answers that differ from one another"; });
  // After a 5xx a key may be free again, and one that never got through was never taken.
  add(
      broken, tally, Promise::reuse_refused,
      [](const OfKey& key) { return key.others_taken > 0 && !key.failed && got_through(key); },
      [](std::uint64_t count, const OfKey& first) {
        return fmt::format("{} took another body under a key in use (answered {}, not 422)", keys_text(count),
                           first.other_status);
      });
  // Among successes an error is an answer like any other. Where there is none, the path is the wrong one, most likely.
  const bool any_success =
      std::ranges::any_of(tally.keys(), [](const OfKey& key) { return key.status != 0 && key.status < 400; });
  add(
      broken, tally, Promise::no_failure, [](const OfKey& key) { return key.failed; },
      [&](std::uint64_t count, const OfKey&) {
        return fmt::format("{} answers were 5xx, for {}{}", grouped(tally.counts().failed), keys_text(count),
                           any_success ? "" : ", and there was no success, so nothing is proven");
      });
  add(
      broken, tally, Promise::got_through,
      [&](const OfKey& key) { return key.status != 0 && (!got_through(key) || !any_success) && !key.failed; },
      [](std::uint64_t count, const OfKey& first) {
        return fmt::format("{} never got through (answered {}), so nothing is proven for them", keys_text(count),
                           first.status);
      });
  add(
      broken, tally, Promise::all_ended, [&](const OfKey& key) { return key.ended < tally.calls(); },
      [](std::uint64_t count, const OfKey&) { return keys_text(count) + " have requests without a final answer"; });
  if (effects && effects->after - effects->before != tally.keys().size()) {
    broken.push_back(
        {.promise = Promise::effects,
         .what = effects->after < effects->before
                     ? std::string("the number of effects went down while the run lasted")
                     : fmt::format("the API counts {} effects for {}", grouped(effects->after - effects->before),
                                   keys_text(tally.keys().size())),
         .keys = {}});
  }
  return broken;
}

std::string grouped(std::uint64_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

}  // namespace semel::cli
