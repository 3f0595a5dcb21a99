#include "core/json/ignore.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/string.h"
#include <semel/fingerprint.h>

namespace semel::core::json {

JsonIgnore::JsonIgnore(const IgnoreList& list) : list_(&list), paths_(list.paths().size()) {
  std::iota(paths_.begin(), paths_.end(), std::uint32_t{0});
}

template <class Names>
JsonIgnore::Step JsonIgnore::into(Inside container, std::size_t depth, Names names) {
  paths_.resize(container.end);  // what leads into the member before this one has been read
  Step step{.value = {.begin = size(), .end = size()}};
  for (std::size_t i = container.begin; i < container.end; ++i) {
    const std::uint32_t position = paths_[i];
    const std::vector<std::string>& path = list_->paths()[position];
    if (!names(path[depth])) continue;
    if (path.size() == depth + 1) {
      step.ignored = true;
    } else {
      paths_.push_back(position);
    }
  }
  step.value.end = size();
  return step;
}

JsonIgnore::Step JsonIgnore::into_member(Inside object, std::size_t depth, std::string_view name) {
  const bool spelled_as_it_is = !name.contains('\\');
  return into(object, depth, [&](const std::string& token) {
    return spelled_as_it_is ? token == name : json_spelling(token) == name;
  });
}

JsonIgnore::Step JsonIgnore::into_element(Inside array, std::size_t depth, std::size_t index) {
  std::array<char, 20> digits{};
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), index);
  const std::string_view name(digits.data(), written.ptr);
  return into(array, depth, [&](const std::string& token) { return token == name; });
}

}  // namespace semel::core::json
