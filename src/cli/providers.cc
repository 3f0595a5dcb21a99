// `semel providers`: the providers that are compiled in, as a list, the file of one, or what is wrong with one of your
// own.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "cli/command.h"
#include "cli/load.h"
#include "reading/issue.h"
#include "reading/nearest.h"
#include "webhook/coverage.h"
#include "webhook/provider.h"
#include "webhook/provider_table.h"
#include <semel/result.h>

namespace semel::cli {
namespace {

// A provider of one's own by the path of its file or by its name in a folder, or one that is compiled in.
Result<std::string> text_of(const std::string& name, const std::string& folder) {
  if (name.ends_with(".toml")) return read_file(name);
  if (!folder.empty()) {
    if (auto own = read_file(folder + "/" + name + ".toml")) return own;
  }
  const auto files = webhook::builtin_providers();
  const auto found = std::ranges::find(files, name, &webhook::ProviderFile::name);
  if (found != files.end()) return std::string(found->text);
  std::vector<std::string_view> names;
  for (const webhook::ProviderFile& file : files) names.push_back(file.name);
  const auto meant = reading::nearest(name, names);
  return fail(Code::invalid, fmt::format("there is no \"{}\"{}", name,
                                         meant ? fmt::format("; did you mean \"{}\"?", *meant) : std::string()));
}

int show(const std::string& name, const std::string& folder) {
  const Result<std::string> text = text_of(name, folder);
  if (!text) {
    fmt::print(stderr, "semel providers: {}\n", text.error().detail);
    return 1;
  }
  fmt::print("{}", *text);
  return 0;
}

// As a file would have it: on one line.
std::string as_written(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// Says everything that is wrong with the file of a provider, or what it makes of a delivery.
int check(const std::string& file) {
  const Result<std::string> text = read_file(file);
  if (!text) {
    fmt::print(stderr, "semel providers: cannot read {}: {}\n", file, text.error().detail);
    return 1;
  }
  const auto loaded = webhook::parse_provider(*text, std::filesystem::path(file).stem().string(), file);
  for (const reading::Issue& issue : loaded ? loaded->warnings : loaded.error()) {
    fmt::print(stderr, "{}\n", reading::to_text(issue));
  }
  if (!loaded) return 1;
  fmt::print("{}: fine: {} way(s) of signing\n", file, loaded->provider.schemes.size());
  for (const webhook::SignatureScheme& scheme : loaded->provider.schemes) {
    if (scheme.algorithm == webhook::Algorithm::none) {
      fmt::print("  signs nothing: anybody can send events\n");
      continue;
    }
    fmt::print("  signs {}; the signature {} the event's id\n",
               scheme.signed_text.text.empty() ? "what its algorithm says" : as_written(scheme.signed_text.text),
               signs_id(loaded->provider, scheme) ? "covers" : "does NOT cover");
  }
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
  one->add_option("name", *name, "Its name, or the path of a file (*.toml)")->required();
  auto folder = std::make_shared<std::string>();
  one->add_option("--providers", *folder, "A folder of provider files of your own");
  one->callback([name, folder, &run] { run = [name, folder] { return show(*name, *folder); }; });
  auto file = std::make_shared<std::string>();
  CLI::App* checked =
      command->add_subcommand("check", "Say everything that is wrong with a provider's file of your own");
  checked->add_option("file", *file, "Its path")->required();
  checked->callback([file, &run] { run = [file] { return check(*file); }; });
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
