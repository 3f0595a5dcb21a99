// Follows the ignored JSON Pointers through a document while it is read.
//
// A stack of paths: those that lead into the member being read lie on top, below them those that lead into the
// container it is in, and so on. Where no pointer leads, nothing is compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <semel/fingerprint.h>

namespace semel::core::json {

class JsonIgnore {
 public:
  explicit JsonIgnore(const IgnoreList& list);

  // The paths that lead into a container.
  struct Inside {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    [[nodiscard]] bool empty() const { return begin == end; }
  };

  // Those that lead into the document: all.
  [[nodiscard]] Inside everywhere() const { return {.begin = 0, .end = size()}; }

  // What the list says about a member. `value`, the paths that lead further into it, is valid until the next step from
  // the same container or one around it.
  struct Step {
    bool ignored = false;
    Inside value;
  };

  // The member of an object at `depth` (0: the document itself) whose name has the canonical spelling `name`.
  Step into_member(Inside object, std::size_t depth, std::string_view name);
  // The element of an array, by its index in the document as it was sent.
  Step into_element(Inside array, std::size_t depth, std::size_t index);

 private:
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(paths_.size()); }
  template <class Names>
  Step into(Inside container, std::size_t depth, Names names);

  const IgnoreList* list_;
  std::vector<std::uint32_t> paths_;  // positions in the list
};

}  // namespace semel::core::json
