#include "store/backends.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <semel/stores.h>

namespace semel::test {
namespace {

class NoPlace : public Place {
 public:
  std::unique_ptr<Store> open(Clock& clock) override { return make_memory_store(clock); }
};

}  // namespace

std::vector<Backend> all_backends() {
  return {
      {"memory", Timing::turned, Memory::forgets, [] { return std::make_unique<NoPlace>(); }},
      // The same store on a clock that cannot be turned: keeps the waiting form of the tests honest.
      {"memory_in_real_time", Timing::real, Memory::forgets, [] { return std::make_unique<NoPlace>(); }},
  };
}

std::vector<Backend> backends_with(Timing timing) {
  std::vector<Backend> found = all_backends();
  std::erase_if(found, [&](const Backend& backend) { return backend.timing != timing; });
  return found;
}

std::vector<Backend> backends_with(Memory memory) {
  std::vector<Backend> found = all_backends();
  std::erase_if(found, [&](const Backend& backend) { return backend.memory != memory; });
  return found;
}

}  // namespace semel::test
