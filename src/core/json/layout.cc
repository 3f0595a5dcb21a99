// Sorting and copying. What is arranged is noted as pieces of the text in the order of the source (`keep`) and copied
// in one go when the document is complete (`copy`).
#include "core/json/layout.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/text.h"

namespace semel::core::json {
namespace {

constexpr std::size_t start_bytes = sizeof(std::uint64_t);

// Enough for most bodies, so that they cost one allocation a list.
constexpr std::size_t members_usual = 32;
constexpr std::size_t containers_usual = 16;

// The first eight bytes of a name as a number that compares as they do. No spelling holds a zero byte, so a shorter
// name filled up with zeros comes first. Reads eight bytes whatever the size: there is that much slack.
std::uint64_t start_of(std::string_view name) {
  static_assert(json_slack_bytes >= start_bytes);
  if (name.empty()) return 0;
  std::uint64_t start = 0;
  std::memcpy(&start, name.data(), start_bytes);
  if constexpr (std::endian::native == std::endian::little) start = std::byteswap(start);
  if (name.size() < start_bytes) start &= ~std::uint64_t{0} << (8 * (start_bytes - name.size()));
  return start;
}

// Most members are short: copying a fixed size, past their end, takes two instructions where a copy of their size is a
// call. There is slack to read, and text() leaves slack to write.
char* copy_run(char* to, std::string_view run) {
  if (run.size() <= json_slack_bytes) {
    std::memcpy(to, run.data(), json_slack_bytes);
  } else {
    std::memcpy(to, run.data(), run.size());
  }
  return to + run.size();
}

}  // namespace

JsonLayout::JsonLayout(const char* text) : text_(text) {
  members_.reserve(members_usual);
  containers_.reserve(containers_usual);
  names_.reserve(members_usual);
}

void JsonLayout::ignore_last(Position container) {
  ignored_.push_back(members_.back().begin);
  containers_[container].arranged = true;
}

bool JsonLayout::close(Position position, JsonKind kind, Position end) {
  Container& container = containers_[position];
  const Position first = container.first_member;
  if (kind == JsonKind::object || container.arranged) list_names(first);
  if (kind == JsonKind::object && !in_order()) {
    std::sort(names_.begin(), names_.end(), [this](const Name& a, const Name& b) { return less(a, b); });
    if (!in_order()) return false;
    container.arranged = true;
  }
  if (container.arranged) {
    container.end = end;
    container.next = count(containers_);
    members_.emplace_back(end);  // the last member ends before the bracket as the others do before a comma
    keep(container);
  } else if (position + 1 == containers_.size()) {
    containers_.pop_back();  // nothing inside it is arranged either
  }
  members_.resize(first);
  return true;
}

// Done when a container closes, because a processor is slow to read what it has just written in pieces of another size.
void JsonLayout::list_names(Position first) {
  names_.resize(members_.size() - first);
  for (std::size_t i = first; i < members_.size(); ++i) {
    const Position name = members_[i].begin + 1;
    names_[i - first] = {start_of(run(name, name + members_[i].name_size)), static_cast<Position>(i)};
  }
}

// Whether each name is greater than the one before it.
bool JsonLayout::in_order() const {
  const auto wrong = [this](const Name& a, const Name& b) { return !less(a, b); };
  return std::adjacent_find(names_.begin(), names_.end(), wrong) == names_.end();
}

// Compares the names of two members that have the same start.
bool JsonLayout::less_behind_start(Position a, Position b) const {
  const auto size = [this](Position member) { return members_[member].name_size; };
  const auto rest = [this](Position member) {
    const Position name = members_[member].begin + 1;
    return run(name + start_bytes, name + members_[member].name_size);
  };
  return size(a) <= start_bytes || size(b) <= start_bytes ? size(a) < size(b) : rest(a) < rest(b);
}

// Notes the members in the order of names_.
void JsonLayout::keep(Container& container) {
  if (pieces_.capacity() == 0) pieces_.reserve(2 * members_usual);
  container.first_piece = count(pieces_);
  Position end_before = 0;
  for (const auto& [start, i] : names_) {
    const Member& member = members_[i];
    if (is_ignored(member)) continue;
    const Position end = members_[i + 1].begin - 1;
    if (end_before != 0 && end_before + 1 == member.begin) {  // one comma lies between them
      pieces_.back().end = end;
    } else {
      pieces_.emplace_back(member.begin, end, member.container);
    }
    end_before = end;
  }
  container.last_piece = count(pieces_);
}

bool JsonLayout::is_ignored(const Member& member) const {
  return !ignored_.empty() && std::binary_search(ignored_.begin(), ignored_.end(), member.begin);
}

std::string JsonLayout::text(Position size) {
  containers_.emplace_back(size);  // so that copy() need not ask whether there is another one
  std::string canonical;
  canonical.resize_and_overwrite(size + json_slack_bytes, [this, size](char* to, std::size_t) {
    return static_cast<std::size_t>(copy(to, {.begin = 0, .end = size, .container = 0}) - to);
  });
  return canonical;
}

// Returns where the copy ends. Recursion is as deep as arranged containers are nested, 64 at most.
char* JsonLayout::copy(char* to, const Piece& piece) const {
  Position begin = piece.begin;
  const Container* container = &containers_[piece.container];
  while (container->begin < piece.end) {
    if (!container->arranged) {
      ++container;
      continue;
    }
    to = copy_run(to, run(begin, container->begin + 1));
    for (Position i = container->first_piece; i < container->last_piece; ++i) {
      const Piece& inner = pieces_[i];
      const bool plain = containers_[inner.container].begin >= inner.end;
      to = plain ? copy_run(to, run(inner.begin, inner.end)) : copy(to, inner);
      *to++ = ',';
    }
    if (container->first_piece != container->last_piece) --to;  // no comma behind the last
    begin = container->end - 1;                                 // the closing bracket is copied with what follows it
    container = &containers_[container->next];
  }
  return copy_run(to, run(begin, piece.end));
}

}  // namespace semel::core::json
