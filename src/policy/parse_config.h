// Reads a configuration file: everything that is wrong with it at once, or a Config.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "policy/config.h"
#include "policy/issue.h"
#include "policy/resolver.h"

namespace semel {

struct LoadedConfig {
  Config config;
  std::vector<Issue> warnings;
};

// `name` is what the issues call the file. The error has every error and every warning, in the order of the file; TOML
// that cannot be read has one error, since what follows it has no meaning.
std::expected<LoadedConfig, std::vector<Issue>> parse_config(std::string_view text, std::string_view name,
                                                             const Resolver& resolver);

// One key that the reader knows, as it stands in `text` and without it. For `semel check` and for the test that holds
// conf/semel.toml to the code.
struct KeyUse {
  std::string table;  // "server", "server.tls", "upstream.*", "route"
  std::string key;
  std::string default_value;  // as TOML; empty: there is none
  std::string value;          // as TOML; secrets are not shown
  bool present = false;
};

// In the order in which the reader asks for them; a table that is repeated is listed once for each time.
std::vector<KeyUse> survey_config(std::string_view text, const Resolver& resolver);

}  // namespace semel
