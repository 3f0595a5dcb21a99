// Where the tree and the public test data are. Behind functions, so that only one object knows this clone's folder and
// the others are the same in every clone, for ccache.
#pragma once

#include <filesystem>
#include <string_view>

namespace semel::test {

// A file of the tree by its name below the root.
[[nodiscard]] std::filesystem::path in_tree(std::string_view name);

// A folder of the public data; it need not exist.
[[nodiscard]] std::filesystem::path in_corpora(std::string_view name);

}  // namespace semel::test
