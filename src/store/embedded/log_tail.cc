// The engine's log: blocks of 32 KiB, in each of them pieces of records behind a header of 7 bytes. A record that does
// not fit into its block goes on in the next one: `first`, any number of `middle`, `last`.
//
//   header = checksum of what follows but the length (4 bytes, masked CRC-32C), length of the piece (2), kind (1)
#include "store/embedded/log_tail.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <system_error>

#include <semel/result.h>

namespace semel::store::embedded {
namespace {

constexpr std::uint64_t block_bytes = 32'768;
constexpr std::uint64_t header_bytes = 7;

enum PieceKind : std::uint8_t { nothing = 0, full = 1, first = 2, middle = 3, last = 4 };

constexpr std::array<std::uint32_t, 256> make_crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t rest = byte;
    for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1U) ^ ((rest & 1U) != 0 ? 0x82f63b78U : 0U);
    table[byte] = rest;
  }
  return table;
}
constexpr std::array<std::uint32_t, 256> crc_table = make_crc_table();

std::uint32_t masked_crc(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) crc = crc_table[(crc ^ static_cast<unsigned char>(byte)) & 0xffU] ^ (crc >> 8U);
  return std::rotr(~crc, 15) + 0xa282ead8U;
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    value |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[i])) << (8U * i);
  }
  return value;
}

struct Piece {
  std::uint8_t kind = nothing;
  std::uint64_t end = 0;  // where the next one begins
  bool whole = false;     // complete, and its checksum is right
};

std::uint64_t next_block(std::uint64_t at) {
  return (at / block_bytes + 1) * block_bytes;
}

// After a header of zeros, or an impossible one, the rest of the block cannot be read.
Piece piece_at(std::string_view log, std::uint64_t at) {
  const std::string_view header = log.substr(at, header_bytes);
  const auto kind = static_cast<std::uint8_t>(header[6]);
  const std::uint64_t end = at + header_bytes + little_endian(header.substr(4, 2));
  if (kind == nothing || end > std::min<std::uint64_t>(next_block(at), log.size())) {
    return {.kind = kind, .end = next_block(at)};
  }
  const std::string_view checked = log.substr(at + 6, end - at - 6);
  return {.kind = kind, .end = end, .whole = masked_crc(checked) == little_endian(header.substr(0, 4))};
}

Result<std::uint64_t> damaged(std::uint64_t at) {
  return fail(Code::corrupt, "is damaged at byte " + std::to_string(at) + " with more records behind that");
}

}  // namespace

Result<std::uint64_t> end_of_log(std::string_view log, std::uint64_t from) {
  std::uint64_t at = from;
  std::uint64_t end = from;  // of the last whole record
  bool within_record = false;
  bool broken = false;
  while (at + header_bytes <= log.size()) {
    if (next_block(at) - at < header_bytes) {
      at = next_block(at);
      continue;
    }
    const Piece piece = piece_at(log, at);
    if (piece.kind > last) return damaged(end);
    const bool begins = piece.kind == full || piece.kind == first;
    broken = broken || !piece.whole || begins == within_record;
    if (broken && piece.whole && begins) return damaged(end);
    at = piece.end;
    if (broken) continue;
    within_record = piece.kind == first || piece.kind == middle;
    if (!within_record) end = at;
  }
  return end;
}

Result<void> cut_log(const std::filesystem::path& log, std::uint64_t from) {
  const std::uint64_t begin = from / block_bytes * block_bytes;
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(log, error);
  if (error || size <= from) return {};  // missing bytes are noticed elsewhere
  std::string bytes(size - begin, '\0');
  std::ifstream file(log, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(begin));
  if (!file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()))) {
    return fail(Code::unavailable, "cannot read " + log.string() + ": " + std::generic_category().message(errno));
  }
  const Result<std::uint64_t> end = end_of_log(bytes, from - begin);
  if (!end) {
    return fail(end.error().code, log.string() + " " + end.error().detail +
                                      ". Nothing was dropped to get past this: restore the folder "
                                      "from a backup");
  }
  if (begin + *end == size) return {};
  std::filesystem::resize_file(log, begin + *end, error);
  if (error) return fail(Code::unavailable, "cannot cut " + log.string() + ": " + error.message());
  return {};
}

}  // namespace semel::store::embedded
