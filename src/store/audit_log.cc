#include "store/audit_log.h"

#include <cstdint>
#include <string>
#include <string_view>

#include "core/encoding.h"
#include "core/sha256.h"
#include <semel/key.h>

namespace semel::store {

Digest audit_hash(const Digest& previous, std::uint64_t number, std::string_view text) {
  std::string bytes = "semel audit v1\n";
  core::append_hex(bytes, previous);
  bytes.append("\n").append(std::to_string(number)).append("\n").append(text);
  return core::sha256(bytes);
}

}  // namespace semel::store
