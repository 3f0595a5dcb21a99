// Which events a destination gets: `when = "{type} ^= 'customer.' and not {json:/livemode} = 'false'"`.
//
//   PART = 'text'    PART != 'text'    PART ^= 'text' (begins with)    PART in ['a', 'b']    PART exists
//   and, or, not, ( )                                                  not binds closest, then and, then or
//
// PART is {type}, {object} or a part of an expression. What an event does not have equals nothing: only `!=` and `not`
// hold for it. There are no numbers and no scripts: values are compared as text, and a filter always ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inbox/event_view.h"
#include "reading/fault.h"

namespace semel::inbox {

class EventFilter {
 public:
  static constexpr std::size_t text_bytes_max = 4'096;
  static constexpr std::size_t depth_max = 32;

  // Says what is wrong and at which byte.
  static reading::Parsed<EventFilter> parse(std::string_view text);

  [[nodiscard]] bool takes(const EventView& event) const { return holds(root_, event); }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  class Parser;
  enum class Kind : std::uint8_t { equal, unequal, begins, one_of, exists, both, either, negated };
  struct Node {
    Kind kind = Kind::exists;
    EventPart part{};
    std::vector<std::string> values{};  // to compare with
    std::size_t left = 0;               // of both, either and negated
    std::size_t right = 0;
  };

  [[nodiscard]] bool holds(std::size_t at, const EventView& event) const;
  [[nodiscard]] static bool compares(const Node& node, const EventView& event);

  std::string text_;
  std::vector<Node> nodes_;
  std::size_t root_ = 0;
};

}  // namespace semel::inbox
