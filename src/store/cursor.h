// Where a list goes on: behind the record that was claimed at `at` and has this id. As text for those who ask.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store {

struct ListPlace {
  Time at;
  Digest id{};

  friend auto operator<=>(const ListPlace&, const ListPlace&) = default;
};

std::string to_cursor(const ListPlace& place);
// None if it is not the text of a place.
std::optional<ListPlace> from_cursor(std::string_view cursor);

}  // namespace semel::store
