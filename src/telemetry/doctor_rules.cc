// Every rule asks for a number and for a share: few things may happen to anybody.
#include "telemetry/doctor_rules.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "telemetry/doctor_note.h"
#include "telemetry/finding.h"
#include "telemetry/key_look.h"

namespace semel::telemetry {
namespace {

constexpr std::uint64_t after_failure_min = 3;
constexpr std::uint64_t after_cut_min = 3;
constexpr std::uint64_t after_success_min = 5;
constexpr std::uint64_t same_delivery_min = 3;
constexpr std::uint64_t changed_keys_min = 3;
constexpr std::uint64_t looked_min = 8;
constexpr std::uint64_t personal_min = 3;
constexpr std::uint64_t late_min = 2;
constexpr std::uint64_t early_min = 3;
constexpr std::uint64_t given_up_min = 6;

bool at_least(std::uint64_t part, std::uint64_t percent, std::uint64_t whole) {
  return part * 100 >= whole * percent;
}

class CaseNotes {
 public:
  explicit CaseNotes(const ClientCase& client) : client_(client) {}

  void find(FindingKind kind, std::uint64_t count, std::string evidence, bool strong = true) {
    const auto at = static_cast<std::size_t>(kind);
    found_.push_back({.kind = kind,
                      .strong = strong,
                      .route = client_.route,
                      .scope = client_.scope,
                      .evidence = std::move(evidence),
                      .members = {},
                      .count = count,
                      .first = client_.first.at(at),
                      .last = client_.last.at(at)});
  }
  Finding& last() { return found_.back(); }
  [[nodiscard]] bool has(FindingKind kind) const {
    return std::ranges::find(found_, kind, &Finding::kind) != found_.end();
  }
  std::vector<Finding> take() { return std::move(found_); }

 private:
  const ClientCase& client_;
  std::vector<Finding> found_;
};

void judge_retries(const ClientCase& client, CaseNotes& judgement) {
  const ClientCounts& counts = client.counts;
  const std::uint64_t again = counts.refused.again + counts.cut.again;
  const std::uint64_t failed = counts.refused.failed + counts.cut.failed;
  const std::uint64_t pairs = again + counts.after_success;
  if (client.source == DoctorNote::Source::webhook) {
    if (pairs < same_delivery_min) return;
    return judgement.find(FindingKind::unstable_webhook_key, pairs,
                          fmt::format("{} deliveries had the body of one shortly before, and another key", pairs));
  }
  const bool mostly = again >= after_failure_min && at_least(again, 50, failed);
  const bool when_cut = counts.cut.again >= after_cut_min && at_least(counts.cut.again, 80, counts.cut.failed);
  if (mostly || when_cut) {
    return judgement.find(FindingKind::new_key_per_retry, again,
                          fmt::format("{} of {} failed requests were sent again within 10 minutes with another key",
                                      again, std::max(failed, again)));
  }
  if (counts.after_success >= after_success_min && at_least(counts.after_success, 25, counts.runs)) {
    judgement.find(FindingKind::new_key_per_retry, counts.after_success,
                   fmt::format("{} of {} requests were equal to one within 10 minutes before, with another key; "
                               "these may be equal operations that are meant",
                               counts.after_success, counts.runs),
                   false);
  }
}

void judge_reuse(const ClientCase& client, CaseNotes& judgement) {
  const ClientCounts& counts = client.counts;
  if (counts.constant > 0) {
    return judgement.find(FindingKind::constant_key, counts.constant,
                          fmt::format("{} requests came under a key that had come with eight others", counts.constant));
  }
  if (counts.changed_keys < changed_keys_min) return;
  judgement.find(FindingKind::body_changes, counts.changed_keys,
                 fmt::format("{} keys came back with another request", counts.changed_keys));
  const auto most = std::ranges::max_element(client.members, {}, [](const auto& each) { return each.second; });
  if (most == client.members.end()) return;
  // What differs nearly every time is what changes; the rest are accidents.
  for (const auto& [name, count] : client.members) {
    if (at_least(count, 50, most->second)) judgement.last().members.push_back(name);
  }
}

void judge_keys(const ClientCase& client, CaseNotes& judgement) {
  const ClientCounts& counts = client.counts;
  const auto of = [&](KeyShape shape) { return counts.shapes.at(static_cast<std::size_t>(shape)); };
  const std::uint64_t looked = std::accumulate(counts.shapes.begin(), counts.shapes.end(), std::uint64_t{0});
  if (of(KeyShape::personal) >= personal_min && at_least(of(KeyShape::personal), 50, looked)) {
    judgement.find(
        FindingKind::personal_key, of(KeyShape::personal),
        fmt::format("{} of {} keys look like an e-mail address or a telephone number", of(KeyShape::personal), looked));
  }
  if (looked < looked_min) return;
  const auto guessable = [&](std::uint64_t count, const char* how) {
    if (!at_least(count, 80, looked)) return;
    judgement.find(FindingKind::guessable_key, count, fmt::format("{} of {} keys {}", count, looked, how));
  };
  guessable(of(KeyShape::brief), "have fewer than eight characters");
  guessable(of(KeyShape::clock), "are a date or a time");
  if (counts.numbers.compared >= looked_min && at_least(counts.numbers.following, 80, counts.numbers.compared)) {
    guessable(of(KeyShape::numbered), "end in a number that counts up");
  }
}

void judge_times(const ClientCase& client, CaseNotes& judgement) {
  const ClientCounts& counts = client.counts;
  // A key that is used for everything comes back after every expiry.
  if (counts.constant == 0 && counts.late >= late_min && at_least(counts.late, 1, counts.runs)) {
    judgement.find(FindingKind::too_late, counts.late,
                   fmt::format("{} keys came back after they had expired, and ran again", counts.late));
  }
  if (counts.early >= early_min && at_least(counts.early, 50, counts.told_to_wait)) {
    judgement.find(
        FindingKind::ignores_retry_after, counts.early,
        fmt::format("{} of {} times it came back before Retry-After said", counts.early, counts.told_to_wait));
  }
  // One that makes a new key for its retry has not given up.
  if (!judgement.has(FindingKind::new_key_per_retry) && counts.given_up >= given_up_min &&
      at_least(counts.given_up, 80, counts.told_to_wait)) {
    judgement.find(
        FindingKind::gives_up, counts.given_up,
        fmt::format("{} of {} times it was told to come back and did not", counts.given_up, counts.told_to_wait));
  }
}

}  // namespace

void ClientCounts::add(const ClientCounts& other) {
  runs += other.runs;
  refused.failed += other.refused.failed;
  refused.again += other.refused.again;
  cut.failed += other.cut.failed;
  cut.again += other.cut.again;
  after_success += other.after_success;
  changed_keys += other.changed_keys;
  constant += other.constant;
  late += other.late;
  told_to_wait += other.told_to_wait;
  early += other.early;
  given_up += other.given_up;
  for (std::size_t i = 0; i < shapes.size(); ++i) shapes[i] += other.shapes[i];
  numbers.compared += other.numbers.compared;
  numbers.following += other.numbers.following;
}

std::vector<Finding> judge(const ClientCase& client) {
  CaseNotes judgement(client);
  judge_retries(client, judgement);
  judge_reuse(client, judgement);
  judge_keys(client, judgement);
  judge_times(client, judgement);
  return judgement.take();
}

}  // namespace semel::telemetry
