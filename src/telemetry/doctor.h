// The key doctor: remembers a little of what clients do with their keys, and says what is odd about them.
//
// It is told of requests after they have been answered (doctor_watch.h says of which), and refuses nobody. Its memory
// is bounded: what does not fit is forgotten, the oldest first. What is counted of a client is that of the last day or
// two. One thread at a time.
//
//   the last runs        (route, scope, fingerprint) → key, when, how it ended         new key for every retry
//   odd keys             key → the requests that came with it, and until when to wait  changed body, Retry-After
//   texts                text of a key → the scopes that sent it                       one key for everybody
//   late keys            keys that ran, for weeks                                      back after expiry
//   clients              (route, scope) → counts (doctor_rules.h)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "telemetry/doctor_note.h"
#include "telemetry/doctor_rules.h"
#include "telemetry/doctor_watch.h"
#include "telemetry/finding.h"
#include "telemetry/late_keys.h"
#include "telemetry/two_generations.h"
#include <semel/clock.h>

namespace semel::telemetry {

class Doctor {
 public:
  static constexpr std::size_t clients_max = 8'192;
  static constexpr std::size_t runs_max = 32'768;
  static constexpr std::size_t odd_keys_max = 4'096;
  static constexpr std::size_t texts_max = 16'384;

  // `watch` outlives this.
  explicit Doctor(DoctorWatch& watch) : watch_(watch) {}

  void examine(const DoctorNote& note);

  // Looks after time: about once a second.
  void tick(Time now);

  // What is odd by now.
  [[nodiscard]] std::vector<Finding> verdicts(Time now);

 private:
  struct LastRun {
    enum class End : std::uint8_t { well, refused, cut };
    std::uint64_t key = 0;
    Time at{};
    End end = End::well;
  };
  struct Seen {
    std::uint64_t fingerprint = 0;
    std::vector<MemberPrint> members;
  };
  struct OddKey {
    const RouteMetrics* route = nullptr;
    std::uint64_t scope = 0;
    std::vector<std::uint64_t> fingerprints;  // that it came with and should not have
    std::vector<Seen> seen;                   // what its bodies looked like
    bool waits = false;                       // was told to come back, and has not yet
    Time told_at{};
    Time due{};
  };
  struct SharedText {
    const RouteMetrics* route = nullptr;
    std::vector<std::uint64_t> scopes;
    Time first{};
    Time last{};
  };
  struct Client {
    const RouteMetrics* route = nullptr;
    std::uint64_t scope = 0;
    DoctorNote::Source source = DoctorNote::Source::route;
    ClientCounts young;
    ClientCounts old;
    Time began{};   // of the young counts
    Time odd_at{};  // when something was odd last
    std::uint64_t last_number = 0;
    std::map<std::string, std::uint64_t> members;
    std::array<Time, finding_kinds> first{};
    std::array<Time, finding_kinds> last{};

    void note(FindingKind kind, Time at);
  };

  static LastRun::End end_of(const DoctorNote& note);
  Client& client_of(const RouteMetrics* route, std::uint64_t scope, Time now);
  void examine_run(const DoctorNote& note, Client& client);
  void examine_retry(const DoctorNote& note, Client& client);
  void examine_look(const DoctorNote& note, Client& client);
  void examine_text(const DoctorNote& note);
  void examine_reuse(const DoctorNote& note, Client& client);
  void examine_wait(const DoctorNote& note, Client& client);
  void give_up_waiting(Time now);
  [[nodiscard]] std::vector<Finding> shared_texts() const;

  DoctorWatch& watch_;
  TwoGenerations<Client> clients_{clients_max / 2};
  TwoGenerations<LastRun> runs_{runs_max / 2};
  TwoGenerations<OddKey> odd_{odd_keys_max / 2};
  TwoGenerations<SharedText> texts_{texts_max / 2};
  LateKeys late_;
  struct Pace {
    std::uint64_t notes = 0;  // since the last tick
    Time ticked{};            // last
    Time swept{};             // last
    Time late_began{};        // of the generation of late keys
    std::size_t late_keys = 0;
  } pace_;
};

}  // namespace semel::telemetry
