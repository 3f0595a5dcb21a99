// `semel inbox tail` and `semel inbox export`.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/command.h"

namespace semel::cli {

void add_stream_commands(CLI::App& inbox, Command& run);

}  // namespace semel::cli
