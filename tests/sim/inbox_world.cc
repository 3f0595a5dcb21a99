// The agenda, and worlds of chance.
#include "sim/inbox_world.h"

#include <algorithm>
#include <sstream>

#include "core/check.h"

namespace semel::sim {
namespace {

using store::Line;

InboxFaults draw_inbox_faults(Random& random) {
  const auto some = [&](int most) { return random.chance(5'000) ? random.between(1, most) : 0; };
  return {.crash = some(40),
          .commit_full = some(100),
          .commit_failed = some(60),
          .commit_crashed = some(150),
          .admit_full = some(200)};
}

HandlerMood draw_mood(Random& random, Time start) {
  const auto some = [&](int most) { return random.chance(4'000) ? random.between(1, most) : 0; };
  HandlerMood mood{.fails = some(4'000),
                   .busy = some(3'000),
                   .silent = some(2'000),
                   .refuses = some(800),
                   .gone = some(200),
                   .fatal = some(500),
                   .says = some(1'000),
                   .down = {}};
  if (random.chance(3'000)) {
    const Time from = start + random.up_to(Millis{20'000});
    mood.down.emplace_back(from, from + random.millis(Millis{500}, Millis{120'000}));
  }
  return mood;
}

SimDestination draw_destination(Random& random, std::size_t number, Time start) {
  SimDestination made;
  made.rules.name = "to-" + std::to_string(number);
  made.rules.concurrency = static_cast<std::uint32_t>(random.between(1, 8));
  made.rules.schedule.steps = {Millis{0}, Millis{random.between(1, 400)}, Millis{2'000}, Millis{9'000}};
  made.rules.schedule.give_up_after = random.chance(3'000) ? Millis{15'000} : Millis{600'000};
  made.rules.schedule.retry_after_max = random.chance(3'000) ? Millis{2'000} : Millis{60'000};
  made.rules.fatal = {422};
  made.rules.breaker.probe_max = Millis{5'000};
  made.rules.on_unknown = random.chance(2'000) ? inbox::OnSilence::hold : inbox::OnSilence::retry;
  if (random.chance(3'000)) {
    made.rules.rate = reading::Rate{.count = static_cast<std::uint32_t>(random.between(2, 20)), .per = Millis{1'000}};
  }
  made.mood = draw_mood(random, start);
  return made;
}

Line draw_line(Random& random) {
  Line line;
  if (random.chance(3'000)) return line;
  line.kind = random.chance(6'000) ? Line::Kind::fifo : Line::Kind::latest;
  line.object = {static_cast<std::uint8_t>(random.between(1, 3)), static_cast<std::uint8_t>(line.kind)};
  line.stamp = std::string(1, static_cast<char>('a' + random.between(0, 25)));
  if (line.kind == Line::Kind::fifo && random.chance(2'000)) line.reorder = Millis{random.between(1, 3'000)};
  line.blocks = line.kind == Line::Kind::fifo && line.object[0] == 1;
  return line;
}

}  // namespace

void InboxStats::operator+=(const InboxStats& other) {
  steps += other.steps, seeds += other.seeds, commits += other.commits, crashes += other.crashes;
  commit_faults += other.commit_faults, sent += other.sent, accepted += other.accepted, known += other.known;
  refused += other.refused, attempts += other.attempts, retries += other.retries, floors += other.floors;
  adopted += other.adopted, acts += other.acts, pauses += other.pauses, fifo += other.fifo;
  for (const auto& [state, count] : other.ends) ends[state] += count;
}

std::string InboxStats::text() const {
  std::ostringstream out;
  out << steps << " steps, " << seeds << " seeds: " << sent << " sent, " << accepted << " accepted, " << known
      << " known, " << refused << " refused, " << attempts << " attempts, " << retries << " of them again, " << floors
      << " after a Retry-After, " << adopted << " adopted, " << commits << " commits, " << acts << " acts, " << pauses
      << " pauses, " << fifo << " in line\n  faults: " << crashes << " crashes, " << commit_faults
      << " commits\n  ends:";
  for (const auto& [state, count] : ends) out << ' ' << name(state) << ' ' << count;
  return out.str();
}

bool InboxWorld::step(std::optional<Time> until) {
  if (agenda_.empty() || (until && agenda_.begin()->first > *until)) return false;
  auto next = agenda_.extract(agenda_.begin());
  now_ = std::max(now_, next.key());
  ++stats.steps;
  next.mapped()();
  return true;
}

SimDestination& InboxWorld::destination(const std::string& name) {
  const auto found = std::ranges::find(setup.destinations, name, [](const auto& each) { return each.rules.name; });
  core::check(found != setup.destinations.end(), "events of this world go to its destinations");
  return *found;
}

void InboxWorld::note(const std::string& what) {
  const Millis at = now_ - Time{Millis{1'000'000'000'000}};
  lines_.push_back("  +" + std::to_string(at.count()) + " ms  " + what + "\n");
  if (lines_.size() > 2 * lines_kept) lines_.erase(lines_.begin(), lines_.begin() + lines_kept);
  for (const char letter : lines_.back()) digest_ = (digest_ ^ static_cast<std::uint64_t>(letter)) * 0x100000001b3ULL;
}

std::string InboxWorld::story() const {
  std::string all;
  for (const std::string& line : lines_) all += line;
  return all;
}

SimEvent sim_event(std::size_t number, std::vector<std::string> to) {
  SimEvent made;
  const std::string text = "evt_" + std::to_string(number);
  made.key = make_key("webhook:/h", "", text).value();
  made.fingerprint.digest[0] = static_cast<std::uint8_t>(number + 1);
  made.source = "/h";
  made.type = "payout.paid";
  made.ttl = Millis{86'400'000};
  made.to = std::move(to);
  return made;
}

InboxSetup draw_inbox(Random& random, Time start) {
  InboxSetup setup;
  setup.faults = draw_inbox_faults(random);
  const int destinations = random.between(1, 3);
  for (int i = 0; i < destinations; ++i) {
    setup.destinations.push_back(draw_destination(random, static_cast<std::size_t>(i), start));
  }
  const int events = random.between(5, 40);
  const bool short_lives = random.chance(2'000);
  for (int i = 0; i < events; ++i) {
    SimEvent event = sim_event(static_cast<std::size_t>(i), {});
    for (const SimDestination& each : setup.destinations) {
      if (event.to.empty() || random.chance(5'000)) event.to.push_back(each.rules.name);
    }
    if (event.to.size() > 1 && random.chance(2'000)) event.skipped.push_back(random.pick(event.to));
    event.line = draw_line(random);
    if (random.chance(300)) event.type = poison_type;
    if (short_lives) event.ttl = Millis{20'000};
    setup.events.push_back(std::move(event));
  }
  setup.config.retain_done = random.up_to(Millis{5'000});
  setup.config.retain_dead = Millis{3'600'000};
  if (random.chance(1'000)) setup.depth_max = 6;
  setup.operators = random.chance(5'000) ? random.between(1, 10) : 0;
  return setup;
}

}  // namespace semel::sim
