// Where the embedded store keeps its identity: a small file in its folder, made before the engine's first file.
//
//   semel.identity = magic 8 · wrapped identity 73 · checksum 8
//
// It is written beside its place, synced, renamed and synced again, so it exists whole or not at all. It is only ever
// replaced by the same identity, wrapped by another key. The caller holds the lock of the folder.
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

// The identity of the store in `folder`. A newborn store gets one now, if there are `keys`. None if the keys of the
// store are stored under plain hashes. When this returns, the first of `keys` opens the file on disk, even after a
// power cut. Code::invalid: there is an identity, and no key that opens it. Code::corrupt: the file is damaged.
// Code::unavailable: the disk failed.
Result<std::optional<core::StoreIdentity>> settle_identity(const std::filesystem::path& folder, Age age,
                                                           const std::vector<core::AesKey>& keys);

// Whether there is a store in `folder` that stores keys under plain hashes, and always will.
bool has_plain_names(const std::filesystem::path& folder);

}  // namespace semel::store::embedded
