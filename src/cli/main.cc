#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/command.h"
#include "reading/nearest.h"

namespace {

// What may have been meant by an unknown word: commands, or the options of the given one.
std::vector<std::string> known_words(const CLI::App& app) {
  std::vector<std::string> words;
  const std::vector<CLI::App*> given = app.get_subcommands();
  if (given.empty()) {
    for (const CLI::App* command : app.get_subcommands({})) words.push_back(command->get_name());
    return words;
  }
  for (const CLI::Option* option : given.back()->get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  return words;
}

// The parser reports first what is missing. An unknown word is more often the reason, so it is reported before that.
int explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> strange = app.remaining(true);
  if (error.get_exit_code() == 0 || strange.empty()) return app.exit(error) == 0 ? 0 : 2;
  const std::vector<std::string> known = known_words(app);
  const std::vector<std::string_view> names(known.begin(), known.end());
  const std::optional<std::string_view> meant = semel::reading::nearest(strange.front(), names);
  const bool option = strange.front().starts_with('-');
  const char* const kind = option ? "option" : app.get_subcommands().empty() ? "command" : "argument";
  fmt::print(stderr, "semel: there is no {} '{}'{}\nRun with --help for more information.\n", kind, strange.front(),
             meant ? fmt::format("; did you mean {}?", *meant) : "");
  return 2;
}

// `semel help [COMMAND]`
void add_help(CLI::App& app, semel::cli::Command& run) {
  auto words = std::make_shared<std::vector<std::string>>();
  CLI::App* const command = app.add_subcommand("help", "Explain the program, or one of its commands");
  command->add_option("command", *words, "The command, such as `serve` or `providers check`");
  command->callback([words, &app, &run] {
    run = [words, &app] {
      const CLI::App* about = &app;
      std::string name = app.get_name();
      for (const std::string& word : *words) {
        const auto known = about->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
        if (known.empty()) {
          fmt::print(stderr, "semel help: there is no command '{}'; `semel help` lists them\n", word);
          return 2;
        }
        about = known.front();
        name += " " + word;
      }
      // The help of the whole program would be that of the command that was given, and that is `help`.
      fmt::print("{}", app.get_formatter()->make_help(about, name, CLI::AppFormatMode::Normal));
      return 0;
    };
  });
}

}  // namespace

int main(int argc, char** argv) {  // NOLINT(bugprone-exception-escape): what nobody can handle ends the process
  CLI::App app("Semel makes any HTTP API safe to retry: however often a request arrives, its effect happens once.",
               "semel");
  app.require_subcommand(1);
  app.set_version_flag("--version", semel::cli::version_text());
  semel::cli::Command run;
  semel::cli::add_serve(app, run);
  semel::cli::add_demo(app, run);
  semel::cli::add_hammer(app, run);
  semel::cli::add_providers(app, run);
  semel::cli::add_sign(app, run);
  semel::cli::add_check(app, run);
  semel::cli::add_keys(app, run);
  semel::cli::add_inbox(app, run);
  semel::cli::add_audit(app, run);
  semel::cli::add_migrate(app, run);
  semel::cli::add_version(app, run);
  add_help(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return explain(app, error);
  }
  return run();
}
