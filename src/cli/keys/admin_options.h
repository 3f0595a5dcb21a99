// The options that every command of `semel keys` has: which gateway is asked, and how its answer is printed.
#pragma once

#include <memory>
#include <string>

#include <CLI/CLI.hpp>

namespace semel::cli {

struct AdminOptions {
  std::string admin = "http://127.0.0.1:9080";
  std::string token;
  std::string config;
  bool json = false;
};

// A subcommand with these options. `given` lives as long as the callbacks that hold it.
inline CLI::App* add_admin_command(CLI::App& keys, AdminOptions& given, const char* name, const char* what) {
  CLI::App* command = keys.add_subcommand(name, what);
  command->add_option("--admin", given.admin, "The admin listener of a gateway")->capture_default_str();
  command->add_option("--token", given.token, "Of the role that is needed (or the environment's SEMEL_ADMIN_TOKEN)");
  command->add_option("-c,--config", given.config, "Take both from this configuration");
  command->add_flag("--json", given.json, "Print JSON");
  return command;
}

}  // namespace semel::cli
