// Which options a running gateway cannot take over: it would have to be started again.
#pragma once

#include <string>
#include <vector>

#include "config/config.h"

namespace semel::config {

// The names of the options that differ between the two and are read only at the start, such as "server.listen".
std::vector<std::string> changed_for_restart(const Config& running, const Config& next);

}  // namespace semel::config
