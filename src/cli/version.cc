#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/command.h"

namespace semel {

void add_version(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  command->callback([&run] {
    run = [] {
      fmt::print("semel {} ({} {})\n", SEMEL_VERSION, SEMEL_COMPILER, SEMEL_BUILD_TYPE);
      return 0;
    };
  });
}

}  // namespace semel
