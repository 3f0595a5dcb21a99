// Layout in inbox_codec.h. Numbers are big-endian; every text comes after its length; the last eight bytes of a value
// are the XXH3-64 of everything before them.
#include "store/inbox_codec.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <xxhash.h>

#include "core/event_id.h"
#include "core/sha256.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store {
namespace {

constexpr std::uint8_t version = 1;
constexpr std::size_t name_bytes = 8;
constexpr std::size_t checksum_bytes = 8;
constexpr std::uint64_t sign = std::uint64_t{1} << 63U;

void append_big(std::string& out, std::uint64_t value) {
  for (int shift = 56; shift >= 0; shift -= 8)
    out += static_cast<char>((value >> static_cast<unsigned>(shift)) & 0xFFU);
}

std::uint64_t read_big(std::string_view bytes) {
  std::uint64_t value = 0;
  for (const char c : bytes) value = (value << 8U) | static_cast<std::uint8_t>(c);
  return value;
}

// Writes a value; finish() adds the checksum.
class ByteSink {
 public:
  ByteSink() { small(version); }

  void small(std::uint8_t value) { bytes_ += static_cast<char>(value); }
  void number(std::uint64_t value) { append_big(bytes_, value); }
  void time(Time at) { number(static_cast<std::uint64_t>(at.time_since_epoch().count()) ^ sign); }
  void raw(std::string_view text) { bytes_ += text; }
  void text(std::string_view value) {
    number(value.size());
    bytes_ += value;
  }
  std::string finish() {
    append_big(bytes_, XXH3_64bits(bytes_.data(), bytes_.size()));
    return std::move(bytes_);
  }

 private:
  std::string bytes_;
};

// Reads one. What is behind the end reads as zero, and whole() says so.
class ByteSource {
 public:
  explicit ByteSource(std::string_view bytes) {
    if (bytes.size() < checksum_bytes + 1) return;
    rest_ = bytes.substr(0, bytes.size() - checksum_bytes);
    sound_ = read_big(bytes.substr(rest_.size())) == XXH3_64bits(rest_.data(), rest_.size()) && small() == version;
  }

  std::uint8_t small() { return static_cast<std::uint8_t>(read_big(raw(1))); }
  std::uint64_t number() { return read_big(raw(8)); }
  Time time() { return Time{Millis{static_cast<Millis::rep>(number() ^ sign)}}; }
  std::string text() { return std::string(raw(number())); }
  std::string_view raw(std::size_t count) {
    if (count > rest_.size()) {
      sound_ = false;
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  template <class Bytes>
  void fill(Bytes& into) {
    const std::string_view from = raw(into.size());
    if (from.size() == into.size()) std::memcpy(into.data(), from.data(), from.size());
  }
  [[nodiscard]] bool sound() const { return sound_; }
  [[nodiscard]] bool whole() const { return sound_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool sound_ = false;
};

std::unexpected<Error> corrupt(std::string_view what) {
  return fail(Code::corrupt, "the " + std::string(what) + " cannot be read: it is damaged, or of another version");
}

template <class Bytes>
std::string_view view_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// In an order of bytes that is the order of the stamps; of `latest`, the reverse.
std::string sortable(const Line& line) {
  std::string out;
  for (const char c : line.stamp) {
    out += c;
    if (c == '\0') out += '\xFF';
  }
  out += '\0';
  out += '\x01';
  if (line.kind == Line::Kind::latest) {
    for (char& c : out) c = static_cast<char>(~static_cast<unsigned char>(c));
  }
  return out;
}

void write_delivery(ByteSink& out, const DeliveryRecord& delivery) {
  out.text(delivery.to);
  out.small(static_cast<std::uint8_t>(delivery.state));
  out.small(static_cast<std::uint8_t>(delivery.urgency));
  out.small(static_cast<std::uint8_t>((delivery.in_line ? 1U : 0U) | (delivery.taken ? 2U : 0U)));
  out.number(delivery.attempt);
  out.number(delivery.tries);
  out.number(delivery.status);
  out.time(delivery.due);
  out.time(delivery.since);
  out.time(delivery.changed);
  out.text(delivery.why);
}

DeliveryRecord read_delivery(ByteSource& in) {
  DeliveryRecord delivery;
  delivery.to = in.text();
  delivery.state = static_cast<DeliveryState>(in.small());
  delivery.urgency = static_cast<Urgency>(in.small());
  const std::uint8_t flags = in.small();
  delivery.in_line = (flags & 1U) != 0;
  delivery.taken = (flags & 2U) != 0;
  delivery.attempt = static_cast<std::uint32_t>(in.number());
  delivery.tries = static_cast<std::uint32_t>(in.number());
  delivery.status = static_cast<std::uint16_t>(in.number());
  delivery.due = in.time();
  delivery.since = in.time();
  delivery.changed = in.time();
  delivery.why = in.text();
  return delivery;
}

}  // namespace

std::string destination_bytes(std::string_view to) {
  const Digest digest = core::sha256(to);
  return std::string(view_of(digest).substr(0, name_bytes));
}

std::string time_bytes(Time at) {
  std::string out;
  append_big(out, static_cast<std::uint64_t>(at.time_since_epoch().count()) ^ sign);
  return out;
}

std::string event_key(const core::EventId& id) {
  return std::string(event_prefix).append(id.view());
}
std::string parcel_key(const core::EventId& id) {
  return std::string(1, parcel_tag).append(id.view());
}
std::string due_prefix(std::string_view to, Urgency urgency) {
  return "w" + destination_bytes(to) + static_cast<char>(urgency);
}
std::string due_key(std::string_view to, Urgency urgency, Time due, const core::EventId& id) {
  return due_prefix(to, urgency).append(time_bytes(due)).append(id.view());
}
std::string line_prefix(std::string_view to, const Line& line) {
  return "l" + destination_bytes(to) + std::string(view_of(line.object));
}
std::string line_key(std::string_view to, const Line& line, const core::EventId& id) {
  return line_prefix(to, line).append(sortable(line)).append(id.view());
}
std::string newest_key(std::string_view to, const Line& line) {
  return "o" + destination_bytes(to) + std::string(view_of(line.object));
}
std::string taken_key(const core::EventId& id, std::string_view to) {
  return std::string(taken_prefix).append(id.view()).append(destination_bytes(to));
}
std::string open_prefix(std::string_view source, std::string_view to) {
  return "q" + destination_bytes(source) + destination_bytes(to);
}
std::string open_key(std::string_view source, std::string_view to, const core::EventId& id) {
  return open_prefix(source, to).append(id.view());
}
std::string drop_key(Time at, const core::EventId& id) {
  return std::string(drop_prefix).append(time_bytes(at)).append(id.view());
}
std::string tally_key(const DeliveryTally& tally) {
  return std::string(tally_prefix).append(tally.source).append(1, '\0').append(tally.to);
}
std::string control_key(std::string_view to) {
  return std::string(control_prefix).append(to);
}

std::optional<core::EventId> id_at_end(std::string_view key) {
  if (key.size() < core::EventId::size) return std::nullopt;
  return core::EventId::from_bytes(key.substr(key.size() - core::EventId::size));
}

std::optional<core::EventId> id_behind_tag(std::string_view key) {
  return core::EventId::from_bytes(key.substr(1, core::EventId::size));
}

std::optional<TimedKey> timed_key(std::string_view key) {
  const std::optional<core::EventId> id = id_at_end(key);
  constexpr std::size_t tail = 8 + core::EventId::size;
  if (!id || key.size() < tail) return std::nullopt;
  const std::uint64_t at = read_big(key.substr(key.size() - tail, 8)) ^ sign;
  return TimedKey{.at = Time{Millis{static_cast<Millis::rep>(at)}}, .id = *id};
}

std::string encode_event(const AcceptedEvent& event) {
  ByteSink out;
  out.raw(event.id.view());
  out.text(event.source);
  out.text(event.type);
  out.raw(view_of(event.key));
  out.small(static_cast<std::uint8_t>(event.line.kind));
  out.raw(view_of(event.line.object));
  out.text(event.line.stamp);
  out.number(static_cast<std::uint64_t>(event.line.reorder.count()));
  out.small(event.line.blocks ? 1 : 0);
  out.time(event.expires_at);
  out.time(event.drop_at);
  out.number(event.bytes);
  out.number(event.deliveries.size());
  for (const DeliveryRecord& delivery : event.deliveries) write_delivery(out, delivery);
  return out.finish();
}

Result<AcceptedEvent> decode_event(std::string_view bytes, const core::EventId& id) {
  ByteSource in(bytes);
  AcceptedEvent event;
  in.fill(event.id.bytes);
  event.source = in.text();
  event.type = in.text();
  in.fill(event.key);
  event.line.kind = static_cast<Line::Kind>(in.small());
  in.fill(event.line.object);
  event.line.stamp = in.text();
  event.line.reorder = Millis{static_cast<Millis::rep>(in.number())};
  event.line.blocks = in.small() != 0;
  event.expires_at = in.time();
  event.drop_at = in.time();
  event.bytes = in.number();
  for (std::uint64_t left = in.number(); left > 0 && in.sound(); --left) event.deliveries.push_back(read_delivery(in));
  if (!in.whole() || event.id != id) return corrupt("event " + id.text());
  return event;
}

std::string encode_tally(const DeliveryTally& tally) {
  ByteSink out;
  out.number(tally.accepted);
  for (const std::uint64_t count : tally.by_state) out.number(count);
  out.number(tally.bytes);
  return out.finish();
}

Result<DeliveryTally> decode_tally(std::string_view key, std::string_view bytes) {
  ByteSource in(bytes);
  DeliveryTally tally;
  const std::size_t zero = key.find('\0');
  if (zero == std::string_view::npos) return corrupt("tally");
  tally.source = std::string(key.substr(1, zero - 1));
  tally.to = std::string(key.substr(zero + 1));
  tally.accepted = in.number();
  for (std::uint64_t& count : tally.by_state) count = in.number();
  tally.bytes = in.number();
  if (!in.whole()) return corrupt("tally of " + tally.source);
  return tally;
}

std::string encode_control(const DestinationControl& control) {
  ByteSink out;
  out.small(control.paused ? 1 : 0);
  out.small(control.until ? 1 : 0);
  out.time(control.until.value_or(Time{}));
  out.text(control.reason);
  return out.finish();
}

Result<DestinationControl> decode_control(std::string_view key, std::string_view bytes) {
  ByteSource in(bytes);
  DestinationControl control;
  control.to = std::string(key.substr(1));
  control.paused = in.small() != 0;
  const bool timed = in.small() != 0;
  const Time until = in.time();
  if (timed) control.until = until;
  control.reason = in.text();
  if (!in.whole()) return corrupt("control of " + control.to);
  return control;
}

}  // namespace semel::store
