// The store that a configuration names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "policy/config.h"
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel {

// Whether this build has stores of that kind.
bool has_store(StoreKind kind);

Result<std::unique_ptr<Store>> open_store(const Config& config, Clock& clock);

// What an operator should know about a store on a server: settings by which it can lose what it acknowledged, or why it
// cannot be asked. One sentence each; never holds an address.
std::vector<std::string> concerns(const StoreConfig& store, Clock& clock);

}  // namespace semel
