// Signals as values: blocked in every thread, taken one at a time by the main one.
#pragma once

#include <chrono>
#include <cstdint>

namespace semel::cli {

enum class Signal : std::uint8_t { none, reload, stop };

// To be called before any thread is started. Also keeps a client that hangs up from ending the process (SIGPIPE).
void take_over_signals();

// The next signal, or none when `limit` has passed.
Signal next_signal(std::chrono::milliseconds limit);

}  // namespace semel::cli
