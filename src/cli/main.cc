#include <CLI/CLI.hpp>

#include "cli/command.h"

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape): what nobody can handle ends the process
  CLI::App app("Semel makes any HTTP API safe to retry: however often a request arrives, its effect happens once.",
               "semel");
  app.require_subcommand(1);
  semel::Run run;
  semel::add_serve(app, run);
  semel::add_demo(app, run);
  semel::add_hammer(app, run);
  semel::add_providers(app, run);
  semel::add_sign(app, run);
  semel::add_check(app, run);
  semel::add_migrate(app, run);
  semel::add_version(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return run();
}
