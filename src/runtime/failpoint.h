// Places where a test may end, stop or delay the process: `failpoint("P3");`
//
// The points are those of the proof (docs/reliability.md), P1 a request has been parsed to P13 half of a reply is out.
// In a build with SEMEL_FAILPOINTS the environment names one of them:
// SEMEL_FAILPOINT=POINT:ACTION[:HIT[:MILLISECONDS]], where ACTION is kill (as kill -9 does), stop (until somebody sends
// SIGCONT) or sleep, and HIT is the how-manieth time the point is passed. In every other build, and so in what is
// shipped, this is an empty function and nothing of it is left.
#pragma once

namespace semel::runtime {

#ifdef SEMEL_FAILPOINTS
inline constexpr bool has_failpoints = true;
void failpoint(const char* point);  // in once/failpoint.cc: this folder knows no processes
#else
inline constexpr bool has_failpoints = false;
inline void failpoint(const char*) {}
#endif

}  // namespace semel::runtime
