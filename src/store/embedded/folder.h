// Folders that survive a power cut.
#pragma once

#include <filesystem>

#include <semel/result.h>

namespace semel::store::embedded {

// Makes `folder` and the missing folders above it, durably, readable by their owner only. Code::unavailable: it cannot
// be made, or is not a folder.
Result<void> make_folder(const std::filesystem::path& folder);

// Makes the names in `folder` durable.
Result<void> sync_folder(const std::filesystem::path& folder);

}  // namespace semel::store::embedded
