// Names and values, both ways.
#include "store/redis/layout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/codec.h"
#include "core/encoding.h"
#include <semel/clock.h>
#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::redis {
namespace {

constexpr std::string_view prefix = "semel:{";
constexpr std::size_t id_letters = 43;  // base64url of 32 bytes
constexpr std::size_t head_bytes = 97;

std::string_view bytes_of(const Digest& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

std::unexpected<Error> damaged(std::string_view what) {
  return fail(Code::corrupt, "the record of the key in Redis is damaged: " + std::string(what));
}

std::optional<Record::State> state_of(char letter) {
  switch (letter) {
    case 'r':
      return Record::State::running;
    case 'd':
      return Record::State::done;
    case 'u':
      return Record::State::unknown;
    case 'f':
      return Record::State::released;
    default:
      return std::nullopt;
  }
}

Time time_at(std::string_view bytes, std::size_t at) {
  return Time{Millis{static_cast<Millis::rep>(number_at(bytes, at))}};
}

std::string tagged(std::string_view tag) {
  return std::string(prefix).append(tag).append("}");
}

template <class Bytes>
void copy(std::string_view from, Bytes& to) {
  std::ranges::copy(from.substr(0, to.size()), to.begin());
}

}  // namespace

std::string record_name(const Digest& id, std::string_view tag) {
  return tagged(tag).append(core::to_base64(bytes_of(id), core::Base64::url));
}

std::string body_name(const Digest& id, std::uint64_t owner, std::string_view tag) {
  return record_name(id, tag).append(":b:").append(core::to_hex(eight_bytes(owner)));
}

std::string channel_name(const Digest& id, std::string_view tag) {
  return record_name(id, tag).append(":e");
}

std::string beat_name(std::string_view process, std::size_t slot, std::string_view tag) {
  return tagged(tag).append(":beat:").append(process).append(":").append(std::to_string(slot));
}

std::string marker_name(std::string_view tag) {
  return tagged(tag).append(":store");
}

std::string index_name(std::string_view tag) {
  return tagged(tag).append(":open");
}

std::string_view tag_in(std::string_view name) {
  if (!name.starts_with(prefix)) return {};
  const std::string_view rest = name.substr(prefix.size());
  return rest.substr(0, rest.find('}'));
}

std::optional<Digest> id_in(std::string_view name) {
  const std::size_t begin = prefix.size() + tag_in(name).size() + 1;
  if (!name.starts_with(prefix) || name.size() < begin + id_letters) return std::nullopt;
  const std::string_view rest = name.substr(begin + id_letters);
  if (!rest.empty() && rest != ":e") return std::nullopt;
  const std::optional<std::string> bytes = core::from_base64(name.substr(begin, id_letters), core::Base64::url);
  Digest id{};
  if (!bytes || bytes->size() != id.size()) return std::nullopt;
  copy(*bytes, id);
  return id;
}

std::string names_beginning(std::string_view id_begins) {
  // Six bits are a letter: those that are not all there are left out.
  const std::size_t letters = id_begins.size() * 8 / 6;
  return tagged("*").append(core::to_base64(id_begins, core::Base64::url).substr(0, letters)).append("*");
}

std::string eight_bytes(std::uint64_t number) {
  std::string bytes(8, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(number >> (56 - (8 * i)));
  return bytes;
}

std::uint64_t number_at(std::string_view bytes, std::size_t at) {
  core::check(at + 8 <= bytes.size(), "a number is there as a whole");
  std::uint64_t number = 0;
  for (const char byte : bytes.substr(at, 8)) number = number << 8U | static_cast<unsigned char>(byte);
  return number;
}

std::string fence_bytes(const Fence& fence) {
  return eight_bytes(fence.number) + eight_bytes(fence.owner);
}

std::string tail_of(const Key& key) {
  std::string tail(reinterpret_cast<const char*>(key.scope.data()), key.scope.size());
  core::check(key.space.size() <= 255, "a namespace fits its length");
  tail += static_cast<char>(key.space.size());
  return tail += key.space;
}

std::string claimed_value(const Key& key, const Fingerprint& fingerprint, const Granted& granted, const Terms& terms) {
  const auto expires = static_cast<std::uint64_t>(granted.expires_at.time_since_epoch().count());
  const std::uint64_t claimed = expires - static_cast<std::uint64_t>(terms.ttl.count());
  const std::uint64_t lease = claimed + static_cast<std::uint64_t>(terms.lease.count());
  std::string value;
  value.reserve(head_bytes + key.space.size());
  value.append("\1r000\0\0\0", 8);
  for (const std::uint64_t number : {granted.fence.number, granted.fence.owner, claimed, lease, expires}) {
    for (unsigned shift = 64; shift > 0; shift -= 8) value += static_cast<char>(number >> (shift - 8));
  }
  value.append(bytes_of(fingerprint.digest));
  value.append(reinterpret_cast<const char*>(key.scope.data()), key.scope.size());
  value += static_cast<char>(key.space.size());
  return value += key.space;
}

std::string answer_bytes(const Digest& id, const Fence& fence, const SharedResponse& response) {
  Record record;
  record.key.id = id;
  record.state = Record::State::done;
  record.fence = fence;
  record.response = response;
  return core::encode(record);
}

Result<SharedResponse> decode_answer(std::string_view bytes, const Record& record) {
  Result<Record> kept = core::decode(bytes, record.key.id);
  if (!kept) return std::unexpected(std::move(kept.error()));
  if (kept->response == nullptr || kept->fence != record.fence) return damaged("answer of another claim");
  return std::move(kept->response);
}

Result<StoredValue> decode_value(std::string_view bytes, const Digest& id) {
  if (bytes.size() < head_bytes) return damaged("too short");
  if (bytes[0] != 1) return damaged("its version is not known here");
  const std::optional<Record::State> state = state_of(bytes[1]);
  if (!state) return damaged("state");
  const std::size_t space = static_cast<unsigned char>(bytes[head_bytes - 1]);
  if (bytes.size() < head_bytes + space) return damaged("too short");
  StoredValue value;
  Record& record = value.record;
  record.state = *state;
  record.key.id = id;
  record.key.space = bytes.substr(head_bytes, space);
  copy(bytes.substr(80), record.key.scope);
  copy(bytes.substr(48), record.fingerprint.digest);
  record.fence = {.number = number_at(bytes, 8), .owner = number_at(bytes, 16)};
  record.claimed_at = time_at(bytes, 24);
  record.lease_until = time_at(bytes, 32);
  record.expires_at = time_at(bytes, 40);
  record.doubted = bytes[4] == '1';
  value.apart = bytes[3] == '1';
  const std::string_view answer = bytes.substr(head_bytes + space);
  if (record.state != Record::State::done) {
    if (!answer.empty() || value.apart) return damaged("an answer where none can be");
    return value;
  }
  if (value.apart) return value;
  Result<SharedResponse> response = decode_answer(answer, record);
  if (!response) return std::unexpected(std::move(response.error()));
  record.response = *std::move(response);
  return value;
}

}  // namespace semel::store::redis
