// Fuzzes the reader of stored records.
//
// The first byte chooses: even, the rest is read as it is; odd, it gets a right checksum first, so that the code behind
// that gate is reached. The key is taken from the bytes themselves. Whatever is read must be written and read again as
// the same record, and an expiry pass that only glances at it must see the same.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/check.h"
#include "core/codec.h"

namespace {

constexpr std::size_t id_at = 48;
constexpr std::size_t checksum_bytes = 8;

void seal(std::string& bytes) {
  if (bytes.size() < checksum_bytes) return;
  const std::size_t covered = bytes.size() - checksum_bytes;
  const std::uint64_t sum = XXH3_64bits(bytes.data(), covered);
  std::memcpy(bytes.data() + covered, &sum, sizeof(sum));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 1) seal(bytes);

  const std::optional<semel::core::RecordOutline> seen = semel::core::outline(bytes);
  semel::Digest id{};
  if (bytes.size() >= id_at + id.size()) std::memcpy(id.data(), bytes.data() + id_at, id.size());
  const semel::Result<semel::Record> read = semel::core::decode(bytes, id);
  if (!read) {
    semel::core::check(read.error().code == semel::Code::corrupt, "what cannot be read is corrupt");
    return 0;
  }
  semel::core::check(seen && seen->state == read->state && seen->expires_at == read->expires_at,
                     "a glance sees the same");
  const semel::Result<semel::Record> again = semel::core::decode(semel::core::encode(*read), id);
  semel::core::check(again && *again == *read, "what was read is written and read again as the same record");
  return 0;
}
