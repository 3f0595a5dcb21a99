// The first keys of lines, as far as they are known: who is first of an object is asked when one is taken and when it
// ends, and the second time need not be read.
//
// Each line is known from its start up to some key, or as a whole. Every key that is put into a line or erased from it
// is told. A hint of this process: what is not known is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semel::store {

class InboxLineFronts {
 public:
  static constexpr std::size_t keys_max = 2;  // of a line; more would only be kept for lines that are drained at once

  // Remembers so many lines; with one more, it begins to learn anew.
  explicit InboxLineFronts(std::size_t lines_max) : lines_max_(lines_max) {}

  // The first key of a line, empty if it has none. Null if that must be read.
  [[nodiscard]] std::optional<std::string> first(std::string_view line) const {
    const auto known = fronts_.find(line);
    if (known == fronts_.end()) return std::nullopt;
    const Front& front = known->second;
    if (!front.keys.empty()) return front.keys.front();
    return front.whole ? std::optional<std::string>(std::string()) : std::nullopt;
  }
  // Where to begin to read a line, all of whose keys begin with `line`.
  [[nodiscard]] std::string begin(std::string_view line) const {
    const auto known = fronts_.find(line);
    return known == fronts_.end() || known->second.floor.empty() ? std::string(line) : known->second.floor;
  }
  // These were read: the first `keys_max` of a line, or all that it has.
  void learn(std::string_view line, std::vector<std::string> keys) {
    const bool whole = keys.size() < keys_max;
    const auto known = fronts_.find(line);
    if (known == fronts_.end() && fronts_.size() >= lines_max_) fronts_.clear();
    Front front{.floor = keys.empty() ? begin(line) : keys.front(), .keys = std::move(keys), .whole = whole};
    fronts_.insert_or_assign(std::string(line), std::move(front));
  }
  void added(std::string_view line, const std::string& key) {
    const auto known = fronts_.find(line);
    if (known == fronts_.end()) return;
    Front& front = known->second;
    const bool in_front =
        front.keys.empty() ? front.whole || key < front.floor : front.whole || key < front.keys.back();
    front.floor = std::min(front.floor, key);
    if (!in_front) return;
    const auto at = std::ranges::lower_bound(front.keys, key);
    if (at != front.keys.end() && *at == key) return;
    front.keys.insert(at, key);
    if (front.keys.size() <= keys_max) return;
    front.keys.pop_back();
    front.whole = false;
  }
  void erased(std::string_view line, const std::string& key) {
    const auto known = fronts_.find(line);
    if (known == fronts_.end()) return;
    Front& front = known->second;
    if (!front.keys.empty() && front.keys.front() == key) front.floor = key;
    std::erase(front.keys, key);
  }
  void clear() { fronts_.clear(); }

 private:
  struct Front {
    std::string floor;              // no key of the line is lower
    std::vector<std::string> keys;  // the first ones
    bool whole = false;             // there are no others
  };

  std::size_t lines_max_;
  std::map<std::string, Front, std::less<>> fronts_;
};

}  // namespace semel::store
