// Configuration from where people keep it: a file, the environment, files of secrets.
#pragma once

#include <memory>
#include <string>

#include "policy/config.h"
#include "policy/parse_config.h"

namespace semel {

// Reads and checks the file and prints what is wrong with it to standard error, every mistake at once. Nothing: it
// cannot be used.
std::shared_ptr<const Config> load_config(const std::string& path);

// What this version cannot do yet although the configuration may ask for it; empty if there is nothing.
std::string unsupported(const Config& config);

}  // namespace semel
