// A JSON parser without recursion that writes the canonical text as it reads.
//
//   value ──scalar──▶ after ──`,`──▶ name or value
//     │ ▲               │  ▲
//   `{` `[`           `}` `]`   until no container is open, then the end of the document
//
// It is strict: whatever it lets through, every conforming parser reads the same way. Members that are to be ignored
// are read as strictly as the rest, and left out when the text is arranged.
#include "core/json/canonical.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/json/ignore.h"
#include "core/json/layout.h"
#include "core/json/number.h"
#include "core/json/string.h"
#include "core/json/text.h"
#include <semel/fingerprint.h>

namespace semel::core::json {
namespace {

using Offset = JsonLayout::Position;

class Canonicaliser {
 public:
  Canonicaliser(std::string_view body, const IgnoreList& list)
      : in_(body.data()),
        end_(body.data() + body.size()),
        text_(std::make_unique_for_overwrite<char[]>(json_room_for(body.size()))),
        out_(text_.get()),
        out_end_(out_ + json_room_for(body.size())),
        layout_(out_),
        ignore_(list),
        paths_(ignore_.everywhere()) {}

  // False if the document has no canonical form.
  bool read() {
    Next next = Next::value;
    while (next != Next::end && next != Next::refuse) {
      if (next == Next::name) next = name();
      if (next == Next::value) next = value();
      if (next == Next::after) next = after();
    }
    skip_space();
    return next == Next::end && in_ == end_;
  }

  std::string text() { return layout_.text(here()); }

 private:
  enum class Next : std::uint8_t { value, name, after, end, refuse };

  struct Frame {
    JsonKind kind = JsonKind::object;
    Offset container = 0;
    JsonIgnore::Inside paths;  // the ignored paths that lead into this container
    std::uint32_t index = 0;   // of the next element; counted only where a path leads
  };

  Next value() {
    skip_space();
    if (in_ == end_) return Next::refuse;
    check_room();
    switch (*in_) {
      case '{':
        return open(JsonKind::object);
      case '[':
        return open(JsonKind::array);
      case '"':
        return scalar(put_json_string(in_ + 1, end_, out_));
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        return scalar(put_json_number(in_, end_, out_));
    }
  }

  Next scalar(JsonStep step) { return move_to(step) ? Next::after : Next::refuse; }

  bool move_to(JsonStep step) {
    if (step.in == nullptr) return false;
    in_ = step.in;
    out_ = step.out;
    return true;
  }

  Next literal(std::string_view word) {
    if (!std::string_view(in_, end_).starts_with(word)) return Next::refuse;
    return scalar({.in = in_ + word.size(), .out = std::ranges::copy(word, out_).out});
  }

  Next open(JsonKind kind) {
    if (depth_ == frames_.size()) return Next::refuse;
    Frame& frame = frames_[depth_++];
    frame.kind = kind;
    frame.container = layout_.open(here());
    frame.paths = paths_;
    frame.index = 0;
    *out_++ = *in_++;
    skip_space();
    if (in_ != end_ && *in_ == closing_bracket(frame)) return close(frame);
    return first_or_next(frame);
  }

  // What comes after an opening bracket or a comma.
  Next first_or_next(Frame& frame) {
    if (frame.kind == JsonKind::object) return Next::name;
    if (!frame.paths.empty()) element(frame);
    return Next::value;
  }

  Next name() {
    Frame& frame = frames_[depth_ - 1];
    const Offset begin = here();
    if (!take('"')) return Next::refuse;
    check_room();
    if (!move_to(put_json_string(in_, end_, out_))) return Next::refuse;
    const std::string_view spelling(text_.get() + begin + 1, out_ - 1);
    layout_.add(begin, static_cast<Offset>(spelling.size()));
    if (!frame.paths.empty()) ignore_if_told(frame, ignore_.into_member(frame.paths, depth_ - 1, spelling));
    if (!take(':')) return Next::refuse;
    *out_++ = ':';
    return Next::value;
  }

  void element(Frame& frame) {
    layout_.add(here(), 0);
    ignore_if_told(frame, ignore_.into_element(frame.paths, depth_ - 1, frame.index++));
  }

  void ignore_if_told(Frame& frame, JsonIgnore::Step step) {
    if (step.ignored) layout_.ignore_last(frame.container);
    paths_ = step.value;
  }

  Next after() {
    if (depth_ == 0) return Next::end;
    Frame& frame = frames_[depth_ - 1];
    skip_space();
    if (in_ == end_) return Next::refuse;
    if (*in_ == closing_bracket(frame)) return close(frame);
    if (*in_ != ',') return Next::refuse;
    *out_++ = *in_++;
    return first_or_next(frame);
  }

  Next close(const Frame& frame) {
    *out_++ = *in_++;
    --depth_;
    return layout_.close(frame.container, frame.kind, here()) ? Next::after : Next::refuse;
  }

  static char closing_bracket(const Frame& frame) { return frame.kind == JsonKind::object ? '}' : ']'; }

  void skip_space() {
    if (in_ != end_ && *in_ > ' ') return;  // most often
    while (in_ != end_ && (*in_ == ' ' || *in_ == '\n' || *in_ == '\r' || *in_ == '\t')) ++in_;
  }

  bool take(char expected) {
    skip_space();
    if (in_ == end_ || *in_ != expected) return false;
    ++in_;
    return true;
  }

  // Every token, and what is between two, is written in this room: see text.h.
  void check_room() const {
    check(json_room_for(static_cast<std::size_t>(end_ - in_)) <= static_cast<std::size_t>(out_end_ - out_),
          "canonical JSON stays within its bound");
  }

  [[nodiscard]] Offset here() const { return static_cast<Offset>(out_ - text_.get()); }

  const char* in_;
  const char* end_;
  std::unique_ptr<char[]> text_;
  char* out_;
  char* out_end_;
  JsonLayout layout_;
  JsonIgnore ignore_;
  JsonIgnore::Inside paths_;  // the ignored paths that lead into the next value
  std::array<Frame, json_depth_max> frames_;
  std::size_t depth_ = 0;
};

}  // namespace

std::optional<std::string> canonical_json(std::string_view body, const IgnoreList& ignore) {
  if (body.size() > JsonLayout::source_bytes_max) return std::nullopt;
  Canonicaliser document(body, ignore);
  if (!document.read()) return std::nullopt;
  return document.text();
}

}  // namespace semel::core::json
