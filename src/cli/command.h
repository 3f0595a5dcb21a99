// A subcommand adds itself to the command line and sets what to run.
#pragma once

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace semel::cli {

// Returns the exit code: 0 if all is well, 1 if the request failed or a promise did not hold, 2 for wrong usage.
using Command = std::function<int()>;

void add_serve(CLI::App& app, Command& run);
void add_demo(CLI::App& app, Command& run);
void add_hammer(CLI::App& app, Command& run);
void add_providers(CLI::App& app, Command& run);
void add_sign(CLI::App& app, Command& run);
void add_check(CLI::App& app, Command& run);
void add_keys(CLI::App& app, Command& run);
void add_audit(CLI::App& app, Command& run);
void add_inbox(CLI::App& app, Command& run);
void add_migrate(CLI::App& app, Command& run);
void add_version(CLI::App& app, Command& run);

// The program, its version, and what built it.
std::string version_text();

}  // namespace semel::cli
