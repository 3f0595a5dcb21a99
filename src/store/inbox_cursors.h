// Where the queues of an inbox begin. What was removed from the front of a queue lies there until the engine has tidied
// up; who looked once need not step over it again. A hint of this process: without one, a look begins at the start.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace semel::store {

class InboxCursors {
 public:
  // Remembers so many queues; with one more, it begins to learn anew.
  explicit InboxCursors(std::size_t queues_max) : queues_max_(queues_max) {}

  // Where to look for the first key of a queue, all of whose keys begin with `queue`.
  [[nodiscard]] std::string begin(std::string_view queue) const {
    const auto known = begins_.find(queue);
    return known == begins_.end() ? std::string(queue) : known->second;
  }
  // No key of the queue is lower than this.
  void begins_at(std::string_view queue, std::string key) {
    const auto known = begins_.find(queue);
    if (known != begins_.end()) {
      known->second = std::move(key);
      return;
    }
    if (begins_.size() >= queues_max_) begins_.clear();
    begins_.emplace(queue, std::move(key));
  }
  // The queue has a further key.
  void added(std::string_view queue, const std::string& key) {
    const auto known = begins_.find(queue);
    if (known != begins_.end()) known->second = std::min(known->second, key);
  }
  void clear() { begins_.clear(); }

 private:
  std::size_t queues_max_;
  std::map<std::string, std::string, std::less<>> begins_;
};

}  // namespace semel::store
