// The highest timeline of a database that was ever admitted, in a file, so that a restart does not forget it.
//
// A server cannot tell that it has been replaced: that is known to the new primary, and to those who have seen it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <semel/result.h>

namespace semel::store::postgres {

// 0 if there is no file yet. Code::unavailable: it cannot be read. Code::corrupt: it is damaged.
Result<std::uint32_t> load_timeline(const std::filesystem::path& folder, const std::string& database);

// Durable when it returns.
Result<void> save_timeline(const std::filesystem::path& folder, const std::string& database, std::uint32_t timeline);

}  // namespace semel::store::postgres
