// How many connections fit into the files that this process may open.
#pragma once

#include <cstddef>
#include <memory>

#include "config/config.h"

namespace semel::cli {

// The configuration, with fewer connections if `files` are not enough: clients must not use up those that upstreams,
// the store and the admin listener need. Most clients are idle. Says so, if it is much less than was asked for.
std::shared_ptr<const config::Config> within(std::size_t files, const std::shared_ptr<const config::Config>& config);

}  // namespace semel::cli
