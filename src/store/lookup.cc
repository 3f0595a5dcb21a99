// For a store that has no better way.
#include "store/lookup.h"

#include <expected>
#include <optional>
#include <utility>
#include <vector>

#include <semel/async.h>
#include <semel/key.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store {

Async<std::vector<std::optional<Held>>> Lookup::look_up_together(std::vector<Key> keys) {
  std::vector<std::optional<Held>> found;
  for (Key& key : keys) {
    Result<std::optional<Held>> held = co_await look_up(std::move(key));
    if (!held) co_return std::unexpected(std::move(held.error()));
    found.push_back(*std::move(held));
  }
  co_return found;
}

}  // namespace semel::store
