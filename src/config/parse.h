// Reads a configuration file: everything that is wrong with it at once, or a Config.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.h"
#include "reading/issue.h"
#include "reading/resolver.h"
#include "reading/table_reader.h"

namespace semel::config {

struct LoadedConfig {
  Config config;
  std::vector<reading::Issue> warnings;
  std::vector<reading::NamedFile> files;  // of certificates and keys
};

// `name` is the file's name in the issues. The error has every error and every warning, in the order of the file; TOML
// that cannot be read has one error, since the text after it has no meaning.
std::expected<LoadedConfig, std::vector<reading::Issue>> parse_config(std::string_view text, std::string_view name,
                                                                      const reading::Resolver& resolver);

// In the order in which the reader asks for them; a table that is repeated is listed once for each time.
std::vector<reading::KeyUse> survey_config(std::string_view text, const reading::Resolver& resolver);

}  // namespace semel::config
