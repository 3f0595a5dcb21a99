// Layout in docs/record-format.md. Integers are little-endian; every variable part comes after its length; the last
// eight bytes are the XXH3-64 of everything before them.
#include "core/codec.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <xxhash.h>
#include <zstd.h>

#include "core/check.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::core {
namespace {

static_assert(std::endian::native == std::endian::little, "integers are stored as they lie in memory");

constexpr std::array<char, 3> magic{'S', 'M', 'L'};
constexpr std::uint8_t version = 1;
constexpr std::uint8_t flag_response = 1;   // a response follows
constexpr std::uint8_t flag_tombstone = 2;  // its body was not kept
constexpr std::uint8_t flag_zstd = 4;       // its body is compressed
constexpr std::uint8_t flag_object = 8;     // the progress of an object follows
constexpr std::uint8_t flag_doubted = 16;   // an earlier attempt ended unknown
constexpr std::size_t state_at = 4;
constexpr std::size_t expires_at_at = 40;
constexpr std::size_t checksum_bytes = 8;
constexpr std::size_t compress_from_bytes = 4096;  // below this a response costs more to compress than to write
constexpr std::size_t body_bytes_max = 1U
                                       << 30U;  // of a body before compression: bounds what a bad length can allocate
constexpr int zstd_level = 1;

class Writer {
 public:
  explicit Writer(std::size_t reserve) { bytes_.reserve(reserve); }

  template <std::integral T>
  void number(T value) {
    std::array<char, sizeof(T)> raw;
    std::memcpy(raw.data(), &value, sizeof(T));
    bytes_.append(raw.data(), raw.size());
  }
  void time(Time value) { number(static_cast<std::int64_t>(value.time_since_epoch().count())); }
  template <std::size_t N>
  void digest(const std::array<std::uint8_t, N>& value) {
    bytes_.append(reinterpret_cast<const char*>(value.data()), N);
  }
  void raw(std::string_view value) { bytes_.append(value); }
  template <std::integral Length>
  void text(std::string_view value) {
    check(std::in_range<Length>(value.size()), "a stored part fits its length field");
    number(static_cast<Length>(value.size()));
    raw(value);
  }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

// Reads forwards; once a read does not fit, every later one gives zeros and ok() stays false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <std::integral T>
  T number() {
    T value{};
    raw(sizeof(T)).copy(reinterpret_cast<char*>(&value), sizeof(T));
    return value;
  }
  Time time() { return Time{Millis{number<std::int64_t>()}}; }
  template <std::size_t N>
  std::array<std::uint8_t, N> digest() {
    std::array<std::uint8_t, N> value{};
    raw(N).copy(reinterpret_cast<char*>(value.data()), N);
    return value;
  }
  std::string_view raw(std::size_t size) {
    if (size > rest_.size()) ok_ = false;
    if (!ok_) return {};
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  template <std::integral Length>
  std::string_view text() {
    return raw(number<Length>());
  }
  [[nodiscard]] bool ok() const { return ok_; }
  [[nodiscard]] bool at_end() const { return ok_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

// The compressed body, or null if compressing is not worth it.
std::optional<std::string> squeezed(std::string_view body) {
  if (body.size() < compress_from_bytes) return std::nullopt;
  std::string out(ZSTD_compressBound(body.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), body.data(), body.size(), zstd_level);
  if (ZSTD_isError(size) != 0U || size > body.size() - body.size() / 8) return std::nullopt;
  out.resize(size);
  return out;
}

std::optional<std::string> expanded(std::string_view packed, std::size_t size) {
  if (size > body_bytes_max || ZSTD_getFrameContentSize(packed.data(), packed.size()) != size) return std::nullopt;
  std::string out(size, '\0');
  if (ZSTD_decompress(out.data(), size, packed.data(), packed.size()) != size) return std::nullopt;
  return out;
}

std::unexpected<Error> corrupt(const char* what) {
  return fail(Code::corrupt, std::string("stored record refused: ") + what);
}

Result<SharedResponse> read_response(Reader& reader, std::uint8_t flags) {
  auto response = std::make_shared<Response>();
  response->body_kept = (flags & flag_tombstone) == 0;
  response->status = reader.number<std::uint16_t>();
  const auto fields = reader.number<std::uint16_t>();
  for (unsigned i = 0; i < fields && reader.ok(); ++i) {
    const std::string_view name = reader.text<std::uint16_t>();
    const std::string_view value = reader.text<std::uint32_t>();
    response->fields.push_back({.name = std::string(name), .value = std::string(value)});
  }
  const auto size = reader.number<std::uint32_t>();
  const std::string_view body = reader.text<std::uint32_t>();
  if (!reader.ok()) return corrupt("it is shorter than its lengths say");
  if ((flags & flag_zstd) == 0) {
    if (size != body.size()) return corrupt("the two lengths of its body differ");
    response->body = body;
    return response;
  }
  std::optional<std::string> plain = expanded(body, size);
  if (!plain) return corrupt("its body cannot be decompressed");
  response->body = *std::move(plain);
  return response;
}

void write_response(Writer& writer, const Response& response, const std::optional<std::string>& packed) {
  writer.number(response.status);
  check(std::in_range<std::uint16_t>(response.fields.size()), "a response has at most 65535 fields");
  writer.number(static_cast<std::uint16_t>(response.fields.size()));
  for (const Field& field : response.fields) {
    writer.text<std::uint16_t>(field.name);
    writer.text<std::uint32_t>(field.value);
  }
  check(response.body.size() <= body_bytes_max, "a kept body is at most 1 GiB");
  writer.number(static_cast<std::uint32_t>(response.body.size()));
  writer.text<std::uint32_t>(packed ? *packed : response.body);
}

void write_progress(Writer& writer, const Record::Progress& progress) {
  writer.digest(progress.event);
  writer.number(progress.fence.number);
  writer.number(progress.fence.owner);
  writer.number(progress.company);
  writer.text<std::uint16_t>(progress.newest);
  writer.text<std::uint16_t>(progress.stamp);
}

std::shared_ptr<const Record::Progress> read_progress(Reader& reader) {
  auto progress = std::make_shared<Record::Progress>();
  progress->event = reader.digest<sizeof(Digest)>();
  progress->fence.number = reader.number<std::uint64_t>();
  progress->fence.owner = reader.number<std::uint64_t>();
  progress->company = reader.number<std::uint64_t>();
  progress->newest = reader.text<std::uint16_t>();
  progress->stamp = reader.text<std::uint16_t>();
  return progress;
}

// Which flags a record of that state has, apart from those that say how its response is kept.
std::uint8_t flags_of(Record::State state) {
  if (state == Record::State::done) return flag_response;
  return state == Record::State::object ? flag_object : 0;
}

bool known(Record::State state) {
  return state == Record::State::running || state == Record::State::done || state == Record::State::unknown ||
         state == Record::State::released || state == Record::State::object;
}

std::size_t size_hint(const Record& record) {
  std::size_t size = 160 + record.key.space.size();
  if (record.response == nullptr) return size;
  for (const Field& field : record.response->fields) size += 6 + field.name.size() + field.value.size();
  return size + std::min(record.response->body.size(), compress_from_bytes);
}

}  // namespace

std::string encode(const Record& record) {
  check(known(record.state) && (record.state == Record::State::done) == (record.response != nullptr),
        "a record has a response just when it is done");
  check((record.state == Record::State::object) == (record.progress != nullptr),
        "only the record of an object has progress");
  check(record.state != Record::State::object || !record.doubted, "an object is not attempted");
  std::optional<std::string> packed;
  std::uint8_t flags = flags_of(record.state);
  if (record.doubted) flags |= flag_doubted;
  if (record.response != nullptr) {
    packed = squeezed(record.response->body);
    if (!record.response->body_kept) flags |= flag_tombstone;
    if (packed) flags |= flag_zstd;
  }
  Writer writer(size_hint(record));
  writer.raw({magic.data(), magic.size()});
  writer.number(version);
  writer.number(static_cast<std::uint8_t>(record.state));
  writer.number(flags);
  writer.number(std::uint16_t{0});
  writer.number(record.fence.number);
  writer.number(record.fence.owner);
  writer.time(record.claimed_at);
  writer.time(record.lease_until);
  writer.time(record.expires_at);
  writer.digest(record.key.id);
  writer.digest(record.fingerprint.digest);
  writer.digest(record.key.scope);
  writer.text<std::uint8_t>(record.key.space);
  if (record.response != nullptr) write_response(writer, *record.response, packed);
  if (record.progress != nullptr) write_progress(writer, *record.progress);
  writer.number(static_cast<std::uint64_t>(XXH3_64bits(writer.bytes().data(), writer.bytes().size())));
  return std::move(writer.bytes());
}

Result<Record> decode(std::string_view bytes, const Digest& id) {
  if (bytes.size() < checksum_bytes + magic.size() + 1) return corrupt("it is too short");
  if (!bytes.starts_with(std::string_view(magic.data(), magic.size()))) return corrupt("it is not a Semel record");
  if (static_cast<std::uint8_t>(bytes[magic.size()]) != version) {
    return corrupt("its version is not known here; it was written by another version of Semel");
  }
  const std::string_view covered = bytes.substr(0, bytes.size() - checksum_bytes);
  Reader tail(bytes.substr(covered.size()));
  if (tail.number<std::uint64_t>() != XXH3_64bits(covered.data(), covered.size())) {
    return corrupt("its checksum does not match");
  }
  Reader reader(covered.substr(magic.size() + 1));
  Record record;
  record.state = static_cast<Record::State>(reader.number<std::uint8_t>());
  const auto flags = reader.number<std::uint8_t>();
  const auto reserved = reader.number<std::uint16_t>();
  record.fence.number = reader.number<std::uint64_t>();
  record.fence.owner = reader.number<std::uint64_t>();
  record.claimed_at = reader.time();
  record.lease_until = reader.time();
  record.expires_at = reader.time();
  record.key.id = reader.digest<sizeof(Digest)>();
  record.fingerprint.digest = reader.digest<sizeof(Digest)>();
  record.key.scope = reader.digest<sizeof(ScopeDigest)>();
  record.key.space = reader.text<std::uint8_t>();
  if (!reader.ok()) return corrupt("it is shorter than its lengths say");
  if (!known(record.state)) return corrupt("its state is not known");
  const bool has_response = (flags & flag_response) != 0;
  const int of_response = has_response ? flag_tombstone | flag_zstd : 0;
  const int of_attempts = record.state == Record::State::object ? 0 : flag_doubted;
  if (reserved != 0 || (flags & ~of_response & ~of_attempts) != flags_of(record.state)) {
    return corrupt("its flags do not fit its state");
  }
  if (record.key.id != id) return corrupt("it belongs to another key");
  record.doubted = (flags & flag_doubted) != 0;
  if (has_response) {
    Result<SharedResponse> response = read_response(reader, flags);
    if (!response) return std::unexpected(response.error());
    record.response = *std::move(response);
  }
  if (record.state == Record::State::object) record.progress = read_progress(reader);
  if (!reader.ok()) return corrupt("it is shorter than its lengths say");
  if (!reader.at_end()) return corrupt("it is longer than its lengths say");
  return record;
}

std::string encode_response(const Response& response) {
  const std::optional<std::string> packed = squeezed(response.body);
  unsigned flags = response.body_kept ? 0U : flag_tombstone;
  if (packed) flags |= flag_zstd;
  Writer writer(64 + (packed ? packed->size() : response.body.size()));
  writer.number(static_cast<std::uint8_t>(flags));
  write_response(writer, response, packed);
  return std::move(writer.bytes());
}

Result<SharedResponse> decode_response(std::string_view bytes) {
  Reader reader(bytes);
  const auto flags = reader.number<std::uint8_t>();
  if ((flags & ~(flag_tombstone | flag_zstd)) != 0) return corrupt("its flags do not fit its state");
  Result<SharedResponse> response = read_response(reader, flags);
  if (response && !reader.at_end()) return corrupt("it is longer than its lengths say");
  return response;
}

std::optional<RecordOutline> outline(std::string_view bytes) {
  if (bytes.size() < expires_at_at + sizeof(std::int64_t) + checksum_bytes) return std::nullopt;
  Reader head(bytes);
  if (head.raw(magic.size()) != std::string_view(magic.data(), magic.size())) return std::nullopt;
  if (head.number<std::uint8_t>() != version) return std::nullopt;
  const auto state = static_cast<Record::State>(bytes[state_at]);
  if (!known(state)) return std::nullopt;
  Reader expiry(bytes.substr(expires_at_at));
  return RecordOutline{.state = state, .expires_at = expiry.time()};
}

}  // namespace semel::core
