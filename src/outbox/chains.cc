#include "outbox/chains.h"

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "outbox/database.h"

namespace semel::outbox {
namespace {

// No destination has a control character in it, so the two kinds cannot be taken for one another.
std::string line_of(const OutboxRow& row) {
  return row.object.empty() ? "\x02" + row.key : row.destination + "\x01" + row.object;
}

}  // namespace

std::vector<Chain> chains_of(const std::vector<OutboxRow>& rows) {
  std::vector<Chain> chains;
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [place, fresh] = places.try_emplace(line_of(rows[i]), chains.size());
    if (fresh) chains.emplace_back();
    chains[place->second].push_back(i);
  }
  return chains;
}

}  // namespace semel::outbox
