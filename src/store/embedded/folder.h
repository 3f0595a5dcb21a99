// Folders that are still there after a power cut.
#pragma once

#include <filesystem>

#include <semel/result.h>

namespace semel::store::embedded {

// Makes `folder` and what is missing above it, durably and for nobody but their owner. Code::unavailable: it cannot be
// made, or is not a folder.
Result<void> make_folder(const std::filesystem::path& folder);

// Makes the names in `folder` durable.
Result<void> sync_folder(const std::filesystem::path& folder);

}  // namespace semel::store::embedded
