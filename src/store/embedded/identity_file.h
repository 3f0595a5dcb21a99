// Where the embedded store keeps its identity: a small file in its folder, made before the engine's first file.
//
//   semel.identity = magic 8 · wrapped identity 73 · checksum 8
//
// It is written beside its place, synced, renamed and synced again, so it is there whole or not at all; and it is only
// ever replaced by the same identity, wrapped by another key. Whoever calls this holds the lock of the folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/crypto.h"
#include "core/identity.h"
#include <semel/result.h>

namespace semel::store::embedded {

enum class Age : std::uint8_t {
  newborn,  // no record was ever written
  grown,
};

// The identity of the store in `folder`: as it was made; or made now, for one that is newborn, if there are `keys`.
// None: its keys are stored under plain hashes. When this returns, the first of `keys` opens what is on the disk, even
// after a power cut.
// Code::invalid: there is one, and no key to open it. Code::corrupt: the file is damaged. Code::unavailable: the disk.
Result<std::optional<core::StoreIdentity>> settle_identity(const std::filesystem::path& folder, Age age,
                                                           const std::vector<core::AesKey>& keys);

// Whether there is a store in `folder`, and it will store keys under plain hashes as long as it lives.
bool has_plain_names(const std::filesystem::path& folder);

}  // namespace semel::store::embedded
