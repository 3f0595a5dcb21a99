// What follows from what a source says about a key of unknown outcome. Pure: the table below, and nothing else.
//
//   the source                                      ruling
//   could not be asked, or failed for all           ask again; nothing has been learned, and no time has passed
//   failed for this key                             ask again; its absence is watched from the start
//   has the answer                                  done, with that answer
//   has begun on it, and has no answer yet          ask again; a person, if it stays so for certain_after
//   has the key for another scope, or two answers,
//     or an answer that the route would not keep    a person
//   had the key before, and has it no longer        a person
//   does not have it
//     and the key is older than the source keeps    a person
//     and was not there for certain_after + lag     not done
//     otherwise                                     ask again
//
// Elapsed time alone decides nothing. `watched` is the time for which the source was asked, answered, and did not have
// the key (watch.h): what an outage took is not part of it, because a request that waits for a database to come back
// may still take effect then.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <semel/clock.h>
#include <semel/response.h>

namespace semel::resolver {

enum class SourceSaid : std::uint8_t {
  nothing,        // the source could not be asked
  failed,         // it broke down over this question; whether that is the source or the key, the others tell (docket.h)
  unclear,        // it could, but not about this key
  found,          // it took effect, and this is the answer
  pending,        // it has begun, and there is no answer yet
  absent,         // the source does not have it
  contradictory,  // what it says cannot be about one attempt of this key
};

struct Testimony {
  SourceSaid said = SourceSaid::nothing;
  SharedResponse answer = nullptr;  // of `found`
  std::string detail{};  // of `nothing`, `failed`, `unclear` and `contradictory`: why, as a part of a sentence
  Millis lag{0};         // how far the source may be behind the truth
};

struct RulingTerms {
  Millis certain_after{0};
  Millis kept_for{0};  // as long as the source keeps what it did
};

// The key, as far as it matters here.
struct Doubt {
  Millis age{0};      // since its claim, by the store's clock
  Millis watched{0};  // see above
  bool seen = false;  // the source had it before, with or without an answer
};

enum class RulingKind : std::uint8_t { ask_again, done, not_done, person };

struct ResolverRuling {
  RulingKind kind = RulingKind::ask_again;
  std::string why;                    // a sentence for people
  SharedResponse response = nullptr;  // of `done`
};

ResolverRuling rule(const RulingTerms& terms, const Doubt& doubt, const Testimony& said);

std::string_view name_of(RulingKind kind);  // "ask-again", "done", "not-done", "person"

}  // namespace semel::resolver
