// JsonLayout: what must move or go between the text in the order of the source and the canonical text.
//
// While a document is read, its scalars are written in their canonical spelling but in the order of the source, and the
// layout notes where each member of the open objects lies. An object whose members came in order is forgotten when it
// closes. Any other has its members sorted and is kept; in the end text() copies every byte once, however deep the
// objects to be sorted are nested. Elements of an array are noted only where one of them may be ignored.
//
// Members are ordered by the bytes of their canonical spelling. Any total order would do, as the form is only hashed;
// this one compares bytes that are at hand, where RFC 8785's order by UTF-16 code units would have to decode them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semel::core::json {

enum class JsonKind : std::uint8_t { object, array };

class JsonLayout {
 public:
  // Where something lies in the text, or in a list. 32 bits: a body of many small members takes memory enough.
  using Position = std::uint32_t;
  static constexpr std::size_t source_bytes_max = std::size_t{1} << 30U;

  // `text` is where the canonical text begins; behind its end there are json_slack_bytes to read.
  explicit JsonLayout(const char* text);

  // An object or array begins. Returns what the calls below name it by.
  [[nodiscard]] Position open(Position begin) {
    containers_.emplace_back(begin, count(members_));
    return count(containers_) - 1;
  }

  // A member begins; a name, if it has one, stands there in quotes. It ends before the comma in front of the next one.
  void add(Position begin, Position name_size) { members_.emplace_back(begin, name_size, count(containers_)); }
  // The member begun last, which is in `container`, is to be left out.
  void ignore_last(Position container);

  // The container opened last of those still open ends. False: two of its members have the same name.
  [[nodiscard]] bool close(Position container, JsonKind kind, Position end);

  // The whole text, of `size` bytes, in order.
  [[nodiscard]] std::string text(Position size);

 private:
  struct Member {
    Position begin = 0;
    Position name_size = 0;
    Position container = 0;  // the first container that begins behind it
  };
  // A stretch of text that is copied as it is but for the arranged containers inside it: a member, or several that are
  // neighbours in the source as well.
  struct Piece {
    Position begin = 0;
    Position end = 0;
    Position container = 0;  // the first container that begins behind `begin`
  };
  // In the order in which they begin, so those inside another follow it.
  struct alignas(16) Container {  // 32 bytes: counting them takes a shift, not a division
    Position begin = 0;
    Position first_member = 0;  // while it is open
    Position end = 0;
    Position next = 0;         // the first container that begins behind the end of this one
    Position first_piece = 0;  // once it is closed
    Position last_piece = 0;   // the one behind its last
    bool arranged = false;     // false: copied as it is but for the containers inside it
  };
  // A member by the first eight bytes of its name. A pair and not a struct of ours: compilers move a pair in two
  // pieces, as it was written, which is faster than the one wide move that they make of a trivial struct.
  using Name = std::pair<std::uint64_t, Position>;

  template <class List>
  static Position count(const List& list) {
    return static_cast<Position>(list.size());
  }
  [[nodiscard]] std::string_view run(Position begin, Position end) const { return {text_ + begin, text_ + end}; }
  void list_names(Position first);
  [[nodiscard]] bool in_order() const;
  [[nodiscard]] bool less(const Name& a, const Name& b) const {
    return a.first != b.first ? a.first < b.first : less_behind_start(a.second, b.second);
  }
  [[nodiscard]] bool less_behind_start(Position a, Position b) const;
  void keep(Container& container);
  [[nodiscard]] bool is_ignored(const Member& member) const;
  char* copy(char* to, const Piece& piece) const;

  const char* text_;
  std::vector<Member> members_;        // of the containers that are open, innermost last
  std::vector<Container> containers_;  // the open ones, the arranged ones, and those around an arranged one
  std::vector<Piece> pieces_;          // of the closed containers that are arranged
  std::vector<Position> ignored_;      // where ignored members begin, ascending
  std::vector<Name> names_;            // scratch of close()
};

}  // namespace semel::core::json
