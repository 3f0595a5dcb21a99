// The keys that a resolver watches: which to ask about now, and what follows from the answers. Pure: the store is
// looked into, and the source asked, by route_resolver.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "resolver/ruling.h"
#include "resolver/source.h"
#include "resolver/watch.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/store.h>

namespace semel::resolver {

// One attempt that is in doubt.
struct DocketEntry {
  Held held;               // as it was found last
  KeyQuestion question{};  // to be filled in by the one who met it first
  bool askable = false;    // whether there is a question
  KeyWatch watch{};
  Time next{};             // when to ask
  std::uint64_t pass = 0;  // in which it was met last
  RulingKind last = RulingKind::ask_again;
  bool fails = false;  // the source broke down over it when it was asked last
};

struct RuledEntry {
  DocketEntry* entry = nullptr;
  ResolverRuling ruling;
  bool answered = false;  // by the source, about this key or not
};

class Docket {
 public:
  static constexpr std::size_t entries_max = 50'000;

  Docket(RulingTerms terms, Millis every) : terms_(terms), every_(every), clock_(2 * every) {}

  // A pass is one look at everything that is in doubt. What was not met in it is no longer in doubt.
  void end_pass();

  struct Meeting {
    DocketEntry* entry = nullptr;  // null if there is no room
    bool first = false;            // this attempt was not known; its question is to be filled in
  };
  Meeting meet(const Held& held, Time now);
  // What another watch of the attempt had come to.
  void take_up(DocketEntry& entry, Millis watched, bool seen, std::uint32_t asks) const;

  // Those whose time has come. While the absence of any is watched, the source is to be asked each time: if it is
  // nobody's turn but that of keys that the source fails for, the next of the others comes early, so that it is known
  // whether the source can be reached.
  std::vector<DocketEntry*> due(Time now);

  // The source was asked about these at `asked`, and said this. One that has an answer for any of them stands, and what
  // it failed for is the failure of that key alone; one that failed for all counts as one that could not be asked.
  std::vector<RuledEntry> hear(std::span<DocketEntry* const> entries, std::span<const Testimony> said, Time asked);

  // The attempt has been settled.
  void drop(const Digest& id) { entries_.erase(id); }
  // Of those that are asked about; of these, those with this ruling.
  [[nodiscard]] std::size_t watched() const;
  [[nodiscard]] std::size_t count(RulingKind ruling) const;

 private:
  RulingTerms terms_;
  Millis every_;
  SourceClock clock_;
  std::uint64_t pass_ = 1;
  std::map<Digest, DocketEntry> entries_;
};

}  // namespace semel::resolver
