// Reads configuration from a file, the environment and files of secrets.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/config.h"
#include "config/parse.h"
#include "webhook/provider.h"
#include <semel/result.h>

namespace semel::cli {

// Whether secrets that the environment or a file should have must be there. Without them nothing can run, but a
// pipeline can check the rest; the files of TLS are not looked at then.
enum class Secrets : std::uint8_t { needed, may_be_missing };

// Reads and checks the file and prints what is wrong with it to standard error, every mistake at once. Null if it
// cannot be used.
std::shared_ptr<const config::Config> load_config(const std::string& path, Secrets secrets = Secrets::needed);

// The whole file. The detail of an error says why it cannot be read.
Result<std::string> read_file(const std::string& path);

// A provider by name: from `folder`, unless that is empty, or compiled in. Null if there is none, or its file has
// mistakes, which have been printed.
std::optional<webhook::Provider> load_provider_file(const std::string& name, const std::string& folder);

// What the configuration asks for although this version cannot do it yet; empty if there is nothing.
std::string unsupported(const config::Config& config);

}  // namespace semel::cli
