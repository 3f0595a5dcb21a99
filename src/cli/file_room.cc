#include "cli/file_room.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>

#include <fmt/format.h>

#include "config/config.h"

namespace semel::cli {
namespace {

constexpr std::size_t files_of_our_own = 128;  // for the store, the admin listener and connections that are ending

}  // namespace

std::shared_ptr<const config::Config> within(std::size_t files, const std::shared_ptr<const config::Config>& config) {
  const std::size_t room = files > 2 * files_of_our_own ? (files - files_of_our_own) / 5 * 3 : files_of_our_own / 2;
  if (config->limits.connections <= room) return config;
  const std::size_t most = config->limits.connections;
  const bool worth_a_word = room < most / 10 * 9;
  if (worth_a_word) {
    fmt::print(stderr,
               "semel: limits.connections is {}, but this process may open {} files: it will take {} connections; "
               "raise the limit of open files (ulimit -n, LimitNOFILE=)\n",
               most, files, room);
  }
  auto lower = std::make_shared<config::Config>(*config);
  lower->limits.connections = static_cast<std::uint32_t>(room);
  return lower;
}

}  // namespace semel::cli
