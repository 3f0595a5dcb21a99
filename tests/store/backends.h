// The stores that are held to the contract, and what the suite may ask of each. backends.cc is the only list.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "store/capable_store.h"
#include <semel/clock.h>

namespace semel::test {

// Whose time the store goes by.
enum class Timing : std::uint8_t {
  turned,  // that of the Clock it is given: a test puts it to the millisecond
  real,    // a clock that nobody can turn (a server's): a test has to wait
};

// What is left when the store has been destroyed and is opened again.
enum class Memory : std::uint8_t { forgets, keeps };

// What becomes of records that have expired.
enum class Reclaiming : std::uint8_t {
  swept,      // sweep() deletes and counts them
  by_itself,  // the server does so on its own, and sweep() counts nothing
};

// Whether the store also keeps what was seen over time.
enum class Telling : std::uint8_t { history, none };

// Where a store keeps its records; empty when made, cleared away with everything in it when destroyed.
class Place {
 public:
  virtual ~Place() = default;

  // One store at a time: destroy the last one first. Throws if the store cannot be opened.
  virtual store::CapableStore open(Clock& clock) = 0;
};

struct Backend {
  std::string name;
  Timing timing;
  Memory memory;
  std::function<std::unique_ptr<Place>()> make;
  Reclaiming reclaiming = Reclaiming::swept;
  Telling telling = Telling::history;
};

void PrintTo(const Backend& backend, std::ostream* out);  // how gtest names it in a message

std::vector<Backend> all_backends();
std::vector<Backend> backends_with(Timing timing);
std::vector<Backend> backends_with(Memory memory);
std::vector<Backend> backends_with(Telling telling);

}  // namespace semel::test
