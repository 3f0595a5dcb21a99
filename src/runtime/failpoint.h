// Points on the way of a request where a test may end, stop or delay the process: `failpoint("claim-written");`
//
// A point is named for what has just happened. docs/reliability.md says what a retry finds when the process died there,
// docs/adr/0015-failpoints.md why the points are as they are. In a build with SEMEL_FAILPOINTS the environment names
// one: SEMEL_FAILPOINT=POINT:ACTION[:HIT[:MILLISECONDS]], where ACTION is kill (as kill -9 does), stop (until somebody
// sends SIGCONT) or sleep, and HIT counts how often the point is passed. SEMEL_FAILPOINT=list prints the names; with a
// name or an action that does not exist, a program ends before main() and says so. In every other build, and so in
// every release, failpoint() is an empty function that leaves no trace.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace semel::runtime {

// Every point, in the order in which a request passes them; then those of an event in the inbox, of
// an outbox and of an audit. This is the only list.
inline constexpr std::array<std::string_view, 20> failpoint_names{
    "request-parsed",       // the head has been read, the route is known
    "claim-prepared",       // key and fingerprint are known, the store has not been asked
    "claim-written",        // durable, and nobody has been told
    "claim-granted",        // the request may run, no connection has been taken
    "upstream-connected",   // not one byte has been sent
    "written-in-part",      // the system took some bytes of a request or of a reply, and will take no more for now
    "request-sent",         // the whole of it
    "answer-begun",         // its head has been read
    "answer-read-in-part",  // some of its body has been read
    "outcome-known",        // the answer is complete and kept nowhere
    "completion-begun",     // the write of the outcome is on its way
    "outcome-kept",         // durable, and not one byte of it has gone to the client
    "event-kept",           // in the inbox, durable, and nobody has been told
    "event-sent",           // the whole of it, to its handler
    "event-answered",       // the handler's answer has been read and is kept nowhere
    "event-settled",        // what came of an attempt is durable
    "outbox-taken",         // rows of an outbox are locked, and none of them is in the inbox
    "outbox-accepted",      // all of them are in the inbox, and still in the outbox
    "outbox-moved",         // they are gone from the outbox
    "audit-paged",          // the inbox has the page of a finding, and the finding does not say so
};

// A name of the list. Any other does not compile.
class Failpoint {
 public:
  consteval Failpoint(const char* name) {
    while (failpoint_names.at(number_) != name) ++number_;
  }

  [[nodiscard]] constexpr std::size_t number() const { return number_; }

 private:
  std::size_t number_ = 0;
};

#ifdef SEMEL_FAILPOINTS
inline constexpr bool has_failpoints = true;
void failpoint(Failpoint point);
#else
inline constexpr bool has_failpoints = false;
inline void failpoint(Failpoint) {}
#endif

}  // namespace semel::runtime
