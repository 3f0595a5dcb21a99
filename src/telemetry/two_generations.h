// A map of bounded size that forgets what has not been asked for in a while: when the young generation is full it
// becomes the old one, and the old one is forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>

namespace semel::telemetry {

template <class Value>
class TwoGenerations {
 public:
  explicit TwoGenerations(std::size_t max) : max_(max) {}

  // Null if it is not there. Valid until the next call of of() or turn().
  Value* find(std::uint64_t key) {
    if (const auto found = young_.find(key); found != young_.end()) return &found->second;
    const auto found = old_.find(key);
    return found == old_.end() ? nullptr : &found->second;
  }

  // Makes it if it is not there. Valid until the next call of of() or turn().
  Value& of(std::uint64_t key) {
    if (const auto found = young_.find(key); found != young_.end()) return found->second;
    if (young_.size() >= max_) turn();
    Value& value = young_[key];
    if (const auto found = old_.find(key); found != old_.end()) {
      value = std::move(found->second);
      old_.erase(found);
    }
    return value;
  }

  void turn() {
    old_ = std::move(young_);
    young_ = {};
  }

  template <class Each>
  void for_each(Each each) {
    for (auto& [key, value] : young_) each(value);
    for (auto& [key, value] : old_) each(value);
  }
  template <class Each>
  void for_each(Each each) const {
    for (const auto& [key, value] : young_) each(value);
    for (const auto& [key, value] : old_) each(value);
  }
  [[nodiscard]] std::size_t size() const { return young_.size() + old_.size(); }

 private:
  const std::size_t max_;
  std::unordered_map<std::uint64_t, Value> young_;
  std::unordered_map<std::uint64_t, Value> old_;
};

}  // namespace semel::telemetry
