#include "support/places.h"

#include <filesystem>
#include <string_view>

namespace semel::test {

std::filesystem::path in_tree(std::string_view name) {
  return std::filesystem::path(SEMEL_SOURCE_DIR) / name;
}

std::filesystem::path in_corpora(std::string_view name) {
  return std::filesystem::path(SEMEL_CORPORA) / name;
}

}  // namespace semel::test
