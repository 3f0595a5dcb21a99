#include <string>
#include <string_view>

#include "core/encoding.h"
#include "core/sha256.h"
#include <semel/derived_key.h>
#include <semel/key.h>

namespace semel {

std::string derived_key(const Key& key, std::string_view step) {
  const std::string_view id(reinterpret_cast<const char*>(key.id.data()), key.id.size());
  const Digest digest = core::sha256_parts("semel derived key v1", {id, step});
  return core::to_hex(digest);
}

}  // namespace semel
