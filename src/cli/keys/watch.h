// `semel keys watch`: requests as they happen.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace semel::cli {

void add_watch(CLI::App& keys, Command& run);

}  // namespace semel::cli
