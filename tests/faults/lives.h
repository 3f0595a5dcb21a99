// Lives of a store, each in a process of its own that can be killed, and what they note where it outlives them.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "store/capable_store.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::faults {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().detail);
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Zeros that are shared with the processes that are forked later.
void* shared_memory(std::size_t bytes);

// The embedded store in `folder`/data.
store::CapableStore open_store(const std::filesystem::path& folder, Clock& clock);

struct Death {
  std::function<bool()> due;           // null: it is not killed
  std::chrono::milliseconds later{0};  // after that
};

// Runs `life` in a process of its own, to its end or to its death. True: it was killed.
bool in_a_process(const std::function<void()>& life, const Death& death);

// Kills as many lives as that, each when `done` has come so far on the way to `all`, and lets one end. How many were
// killed.
std::uint64_t live_and_die(const std::function<void()>& life, std::uint64_t kills, std::uint64_t all,
                           const std::function<std::uint64_t()>& done);

// main() of a program whose arguments are how many of `what`, how many kills, and an empty folder for them.
int main_of(int argc, char** argv, const char* what,
            const std::function<int(std::uint64_t, std::uint64_t, const std::filesystem::path&)>& run);

// Says what does not hold, and counts it.
void expect(bool holds, const std::string& what, int& failures);

double seconds_since(std::chrono::steady_clock::time_point from);

}  // namespace semel::faults
