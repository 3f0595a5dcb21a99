// What a resolver asks: a database, or the service itself.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "resolver/ruling.h"
#include <semel/async.h>
#include <semel/key.h>

namespace semel::resolver {

struct KeyQuestion {
  Digest id{};         // as the store names the key
  std::string key;     // its text
  std::string target;  // of the route's probe; empty if it has none
};

class Source {
 public:
  virtual ~Source() = default;

  // How many questions may be asked together.
  [[nodiscard]] virtual std::size_t questions_max() const = 0;

  // One testimony for each question. If the source cannot be reached, all of them say `nothing`.
  virtual Task<std::vector<Testimony>> ask(std::vector<KeyQuestion> questions) = 0;
};

}  // namespace semel::resolver
