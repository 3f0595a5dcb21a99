#include <string>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/command.h"

namespace semel::cli {

std::string version_text() {
  return fmt::format("semel {} ({} {})", SEMEL_VERSION, SEMEL_COMPILER, SEMEL_BUILD_TYPE);
}

void add_version(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("version", "Print the version");
  command->callback([&run] {
    run = [] {
      fmt::print("{}\n", version_text());
      return 0;
    };
  });
}

}  // namespace semel::cli
