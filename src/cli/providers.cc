// `semel providers`: the providers that are compiled in, as a list, or the file of one.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/command.h"
#include "webhook/provider.h"
#include "webhook/provider_table.h"

namespace semel::cli {
namespace {

int show(std::string_view name) {
  const auto files = webhook::builtin_providers();
  const auto found = std::ranges::find(files, name, &webhook::ProviderFile::name);
  if (found == files.end()) {
    fmt::print(stderr, "semel providers: there is no \"{}\"\n", name);
    return 1;
  }
  fmt::print("{}", found->text);
  return 0;
}

}  // namespace

void add_providers(CLI::App& app, Command& run) {
  CLI::App* command = app.add_subcommand("providers", "List the webhook providers, or show the file of one");
  command->require_subcommand(0, 1);
  auto markdown = std::make_shared<bool>(false);
  CLI::App* list = command->add_subcommand("list", "Name, key, order, how long it retries");
  list->add_flag("--markdown", *markdown, "Print it as Markdown, for docs/providers.md");
  list->callback([markdown, &run] {
    run = [markdown] {
      fmt::print("{}", *markdown ? webhook::provider_markdown() : webhook::provider_list());
      return 0;
    };
  });
  auto name = std::make_shared<std::string>();
  CLI::App* one = command->add_subcommand("show", "Print a provider's file: a start for one of your own");
  one->add_option("name", *name, "Its name")->required();
  one->callback([name, &run] { run = [name] { return show(*name); }; });
  command->callback([command, &run] {
    if (command->get_subcommands().empty()) {
      run = [] {
        fmt::print("{}", webhook::provider_list());
        return 0;
      };
    }
  });
}

}  // namespace semel::cli
