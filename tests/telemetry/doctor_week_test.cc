// A week of traffic of a hundred clients, ten of which use their keys badly: the doctor finds these ten and no other.
//
// The gateway is a model here: keys expire after a day, upstreams fail now and then, keys are in use now and then. What
// it tells the doctor is what the real one would: by the same watch, with the same hashes.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "telemetry/doctor.h"
#include "telemetry/doctor_note.h"
#include "telemetry/doctor_watch.h"
#include "telemetry/finding.h"
#include "telemetry/route_metrics.h"

namespace semel::telemetry {
namespace {

using namespace std::chrono_literals;
constexpr Time monday = Time{std::chrono::sys_days{std::chrono::year{2026} / 11 / 16}};

enum class Habit : std::uint8_t {
  good,
  new_keys,         // a new key for every retry
  new_keys_on_cut,  // the same, only when the answer was lost
  twice,            // everything twice, with two keys
  stamped,          // a time in the body that changes with every retry
  constant,         // one key for everything
  guessable,        // short, counting up or a time, by the seed
  personal,         // the customer's mail address
  late,             // a nightly job that sends what failed the day before yesterday
  deaf,             // comes back at once
  unstable,         // a webhook that names each delivery anew
};

std::uint64_t hashed(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

class Week {
 public:
  explicit Week(std::uint64_t seed) : random_(seed), seed_(seed) {
    for (std::size_t i = 0; i < 100; ++i) {
      const Habit habit = i < 10 ? static_cast<Habit>(i + 1) : Habit::good;
      clients_.push_back({.habit = habit, .name = fmt::format("client-{}-{}", seed, i), .operations = 0});
    }
  }

  // Kinds of findings by client.
  std::map<std::size_t, std::set<FindingKind>> run() {
    for (std::size_t i = 0; i < clients_.size(); ++i) begin_day(i, monday);
    Time hour = monday;
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      for (; hour + 1h <= event.at; hour += 1h) {
        doctor_.tick(hour);
        for (Finding& each : doctor_.verdicts(hour)) found_.push_back(std::move(each));
      }
      event.act(event.at);
    }
    for (Finding& each : doctor_.verdicts(hour)) found_.push_back(std::move(each));
    std::map<std::size_t, std::set<FindingKind>> by_client;
    for (const Finding& each : merged(found_)) {
      by_client[client_of(each.scope)].insert(each.kind);
      words_ += fmt::format("{} {}: {}\n", client_of(each.scope), name(each.kind), each.evidence);
      if (each.kind == FindingKind::body_changes) remedies_.insert(each.remedy());
    }
    return by_client;
  }

  [[nodiscard]] const std::set<std::string>& remedies() const { return remedies_; }
  [[nodiscard]] const std::string& words() const { return words_; }
  [[nodiscard]] std::uint64_t requests() const { return requests_; }

 private:
  struct Client {
    Habit habit;
    std::string name;
    std::uint64_t operations;
  };
  struct Event {
    Time at;
    std::uint64_t order;
    std::function<void(Time)> act;
    bool operator<(const Event& other) const { return std::pair(other.at, other.order) < std::pair(at, order); }
  };
  struct Operation {
    std::size_t client;
    std::string key;
    std::string order;
    int attempts = 0;
  };
  struct Live {
    std::uint64_t fingerprint;
    Time expires;
  };
  struct Told {
    TallyOutcome outcome;
    std::uint16_t status;
    std::uint32_t retry_after = 0;
  };

  double chance() { return std::uniform_real_distribution<double>(0, 1)(random_); }
  Millis between(Millis from, Millis to) {
    return Millis{std::uniform_int_distribution<std::int64_t>(from.count(), to.count())(random_)};
  }
  void at(Time when, std::function<void(Time)> act) { events_.push({when, ++order_, std::move(act)}); }

  std::size_t client_of(const std::string& scope) const {
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      if (fmt::format("{:012x}", hashed(clients_[i].name) >> 16U) == scope) return i;
    }
    return clients_.size();
  }

  std::string random_key() { return fmt::format("{:016x}{:016x}", random_(), random_()); }

  std::string key_for(std::size_t client, Time now) {
    Client& who = clients_[client];
    ++who.operations;
    if (who.habit == Habit::constant) return "payment-key";
    if (who.habit == Habit::personal) return fmt::format("user{}@example.com", who.operations);
    if (who.habit == Habit::guessable && seed_ % 3 == 0) return fmt::format("{:x}", random_() % 0xFF'FFFF);
    if (who.habit == Habit::guessable && seed_ % 3 == 1) return fmt::format("order-{}", 1'000 + who.operations);
    if (who.habit == Habit::guessable) return std::to_string(now.time_since_epoch().count());
    if (client % 7 == 3) return fmt::format("order-{:012x}", random_() & 0xFFFF'FFFF'FFFFU);
    return random_key();
  }

  void begin_day(std::size_t client, Time day) {
    if (day >= monday + 7 * 24h) return;
    const auto count = 30 + random_() % 30;
    for (std::uint64_t i = 0; i < count; ++i) {
      at(day + 7h + between(0ms, 12h), [this, client](Time now) { begin(client, now); });
    }
    at(day + 24h, [this, client](Time now) { begin_day(client, now); });
  }

  void begin(std::size_t client, Time now) {
    const Habit habit = clients_[client].habit;
    const Operation operation{.client = client, .key = key_for(client, now), .order = random_key()};
    attempt(operation, now);
    if (habit == Habit::twice) {
      Operation again = operation;
      again.key = random_key();
      at(now + 2s, [this, again](Time then) { attempt(again, then); });
    }
    if (habit == Habit::late && chance() < 0.1) {
      at(now + 30h, [this, operation](Time then) { attempt(operation, then); });
    }
    if (habit == Habit::unstable && chance() < 0.1) {
      Operation again = operation;
      again.key = random_key();
      at(now + 60s, [this, again](Time then) { attempt(again, then); });
    }
    if (habit != Habit::good) return;
    if (chance() < 0.04) {  // the same thing bought twice, and meant
      Operation second = operation;
      second.key = random_key();
      at(now + between(1min, 8min), [this, second](Time then) { attempt(second, then); });
    }
    if (chance() < 0.02) {  // a double click: the second one is told to wait, and the first is answered
      tell(operation, now + 20ms, now + 30ms, body_of(operation, now), {TallyOutcome::in_flight, 409, 1});
    }
    if (chance() < 0.02) {  // a repeat within the day
      at(now + between(1min, 20h), [this, operation](Time then) { attempt(operation, then); });
    }
  }

  std::string body_of(const Operation& operation, Time now) const {
    const std::string stamp = clients_[operation.client].habit == Habit::stamped
                                  ? fmt::format(R"(,"sent_at":{})", now.time_since_epoch().count())
                                  : std::string();
    return fmt::format(R"({{"order":"{}","amount":100{}}})", operation.order, stamp);
  }

  void attempt(Operation operation, Time now) {
    ++operation.attempts;
    const std::string body = body_of(operation, now);
    const Told told = judge_request(operation, now, hashed(body));
    const Time ended = now + between(5ms, 80ms);
    tell(operation, now, ended, body, told);
    const bool fine = told.status < 400 || told.status == 422;
    if (fine || operation.attempts > 4) return;
    const Habit habit = clients_[operation.client].habit;
    Millis pause = between(2s, 30s);
    if (told.retry_after > 0) pause = Millis{1'000} * told.retry_after + between(0ms, 2s);
    if (habit == Habit::deaf) pause = Millis{400};
    if (habit == Habit::new_keys) operation.key = random_key();
    if (habit == Habit::new_keys_on_cut && told.outcome == TallyOutcome::unknown) operation.key = random_key();
    if (habit == Habit::good && chance() < 0.1) return;                         // nobody is perfect
    if (habit == Habit::good && chance() < 0.01) operation.key = random_key();  // somebody pressed the button again
    at(ended + pause, [this, operation](Time then) { attempt(operation, then); });
  }

  Told judge_request(const Operation& operation, Time now, std::uint64_t fingerprint) {
    const std::string id = clients_[operation.client].name + "/" + operation.key;
    const auto found = live_.find(id);
    if (found != live_.end() && now < found->second.expires) {
      if (found->second.fingerprint != fingerprint) return {TallyOutcome::key_reused, 422};
      return {TallyOutcome::replayed, 201};
    }
    const double luck = chance();
    if (luck < 0.02) return {TallyOutcome::in_flight, 409, 2};
    if (luck < 0.03) return {TallyOutcome::refused, 503, 1};
    live_[id] = {.fingerprint = fingerprint, .expires = now + 24h};
    if (luck < 0.07) {  // the upstream said 500: nothing is kept but the request that the key belongs to
      if (clients_[operation.client].habit != Habit::stamped) live_.erase(id);
      return {TallyOutcome::released, 500};
    }
    if (luck < 0.11) {  // the answer was lost, and an operator settles it before the retry
      if (clients_[operation.client].habit != Habit::stamped) live_.erase(id);
      return {TallyOutcome::unknown, 504};
    }
    return {TallyOutcome::ran, 201};
  }

  void tell(const Operation& operation, Time came, Time ended, const std::string& body, Told told) {
    ++requests_;
    const Client& client = clients_[operation.client];
    const RequestTraits traits{.scope = hashed(client.name),
                               .key = hashed(client.name + "/" + operation.key),
                               .fingerprint = hashed(body),
                               .text = hashed(operation.key)};
    using Interest = DoctorWatch::Interest;
    const Interest interest = watch_.interest_in(traits);
    const bool odd = told.outcome != TallyOutcome::ran;
    const bool looked_into = odd || watch_.watched(traits.scope);
    if (is_odd(told.outcome, told.status)) watch_.watch(traits.scope);
    if (interest == Interest::none && !odd) return;
    const bool webhook = client.habit == Habit::unstable;
    DoctorNote note{.route = webhook ? &webhooks_ : &payments_, .traits = traits, .at = came, .ended = ended};
    note.outcome = told.outcome;
    note.source = webhook ? DoctorNote::Source::webhook : DoctorNote::Source::route;
    note.by_request = odd || interest == Interest::by_request;
    note.status = told.status;
    note.retry_after = told.retry_after;
    note.look = look_at_key(operation.key, came);
    if (looked_into) note.members = member_prints(body);
    doctor_.examine(note);
  }

  std::mt19937_64 random_;
  const std::uint64_t seed_;
  RouteMetrics payments_{"/v1/payments"};
  RouteMetrics webhooks_{"/hooks/shop"};
  DoctorWatch watch_;
  Doctor doctor_{watch_};
  std::vector<Client> clients_;
  std::priority_queue<Event> events_;
  std::uint64_t order_ = 0;
  std::uint64_t requests_ = 0;
  std::map<std::string, Live> live_;
  std::vector<Finding> found_;
  std::set<std::string> remedies_;
  std::string words_;
};

FindingKind expected(std::size_t client) {
  switch (static_cast<Habit>(client + 1)) {
    case Habit::stamped:
      return FindingKind::body_changes;
    case Habit::constant:
      return FindingKind::constant_key;
    case Habit::guessable:
      return FindingKind::guessable_key;
    case Habit::personal:
      return FindingKind::personal_key;
    case Habit::late:
      return FindingKind::too_late;
    case Habit::deaf:
      return FindingKind::ignores_retry_after;
    case Habit::unstable:
      return FindingKind::unstable_webhook_key;
    default:
      return FindingKind::new_key_per_retry;
  }
}

class DoctorWeek : public testing::TestWithParam<std::uint64_t> {};

// All ten, each for what it does and for nothing else; none of the ninety others.
TEST_P(DoctorWeek, FindsTheTenAndNoOther) {
  Week week(GetParam());
  const std::map<std::size_t, std::set<FindingKind>> found = week.run();
  SCOPED_TRACE(week.words());
  EXPECT_GT(week.requests(), 25'000U);
  for (std::size_t client = 0; client < 10; ++client) {
    ASSERT_TRUE(found.contains(client)) << "client " << client << " was not found";
    EXPECT_EQ(found.at(client), std::set{expected(client)}) << "client " << client;
  }
  for (const auto& [client, kinds] : found) {
    EXPECT_LT(client, 10U) << "client " << client << " is good: " << name(*kinds.begin());
  }
  EXPECT_EQ(week.remedies(), std::set<std::string>{R"(ignore = ["/sent_at"])"});
}

INSTANTIATE_TEST_SUITE_P(Seeds, DoctorWeek, testing::Range(std::uint64_t{1}, std::uint64_t{31}));

}  // namespace
}  // namespace semel::telemetry
