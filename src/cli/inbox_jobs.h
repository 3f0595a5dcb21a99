// `semel inbox replay`, `discard`, `backfill`, `erase`, `jobs` and `job`: bulk work on the inbox.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/inbox_call.h"

namespace semel::cli {

// `discard_one` is for a discard that names one event.
void add_job_commands(CLI::App& inbox, Command& run, std::function<int(const InboxArguments&)> discard_one);

}  // namespace semel::cli
