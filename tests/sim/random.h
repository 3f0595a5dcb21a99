// Chance, from a seed: the same seed gives the same world, on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include <semel/clock.h>

namespace semel::sim {

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  // splitmix64
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15ULL;
    std::uint64_t value = state_;
    value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
    return value ^ (value >> 31U);
  }

  std::size_t below(std::size_t limit) { return static_cast<std::size_t>(next() % limit); }
  int between(int first, int last) {
    return first + static_cast<int>(below(static_cast<std::size_t>(last - first) + 1));
  }
  Millis millis(Millis first, Millis last) {
    return first + Millis{static_cast<std::int64_t>(below(static_cast<std::size_t>((last - first).count()) + 1))};
  }
  Millis up_to(Millis last) { return millis(Millis{0}, last); }
  // True `in_ten_thousand` times out of ten thousand.
  bool chance(int in_ten_thousand) { return between(0, 9'999) < in_ten_thousand; }

  template <class List>
  auto& pick(List& list) {
    return list[below(std::size(list))];
  }

 private:
  std::uint64_t state_;
};

}  // namespace semel::sim
