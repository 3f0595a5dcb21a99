// Layout in inbox_codec.h, the bytes in inbox_bytes.h; jobs are in inbox_job_codec.cc.
#include "store/inbox_codec.h"

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/event_id.h"
#include "core/sha256.h"
#include "store/inbox.h"
#include "store/inbox_bytes.h"
#include "store/inbox_desk.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store {
namespace {

constexpr std::size_t name_bytes = 8;
constexpr std::size_t names_remembered = 32;

// With one allocation.
std::string joined(const std::convertible_to<std::string_view> auto&... parts) {
  std::string out;
  out.reserve((std::string_view(parts).size() + ...));
  (out.append(std::string_view(parts)), ...);
  return out;
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
  const unsigned of_job = delivery.job != 0 ? 4U : 0U;
  out.small(static_cast<std::uint8_t>((delivery.in_line ? 1U : 0U) | (delivery.taken ? 2U : 0U) | of_job));
  out.number(delivery.attempt);
  out.number(delivery.tries);
  out.number(delivery.status);
  out.time(delivery.due);
  out.time(delivery.since);
  out.time(delivery.changed);
  out.text(delivery.why);
  if (delivery.job != 0) out.number(delivery.job);
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
  if ((flags & 4U) != 0) delivery.job = in.number();
  return delivery;
}

}  // namespace

// Each delivery asks ten times and more for the same few names.
std::string destination_bytes(std::string_view to) {
  struct Hashed {
    std::string name;
    std::string bytes;
  };
  thread_local std::vector<Hashed> remembered;
  for (const Hashed& each : remembered) {
    if (each.name == to) return each.bytes;
  }
  if (remembered.size() >= names_remembered) remembered.clear();
  const Digest digest = core::sha256(to);
  remembered.push_back({.name = std::string(to), .bytes = std::string(view_of(digest).substr(0, name_bytes))});
  return remembered.back().bytes;
}

std::string time_bytes(Time at) {
  std::string out;
  append_big(out, static_cast<std::uint64_t>(at.time_since_epoch().count()) ^ inbox_sign_bit);
  return out;
}

std::string event_key(const core::EventId& id) {
  return std::string(event_prefix).append(id.view());
}
std::string parcel_key(const core::EventId& id) {
  return std::string(1, parcel_tag).append(id.view());
}
std::string due_prefix(std::string_view to, Urgency urgency) {
  return joined("w", destination_bytes(to), std::string(1, static_cast<char>(urgency)));
}
std::string due_key(std::string_view to, Urgency urgency, Time due, const core::EventId& id) {
  return joined(due_prefix(to, urgency), time_bytes(due), id.view());
}
std::string line_prefix(std::string_view to, const Line& line) {
  return joined("l", destination_bytes(to), view_of(line.object));
}
std::string line_key(std::string_view to, const Line& line, const core::EventId& id) {
  return joined("l", destination_bytes(to), view_of(line.object), sortable(line), id.view());
}
std::string newest_key(std::string_view to, const Line& line) {
  return joined("o", destination_bytes(to), view_of(line.object));
}
std::string taken_key(const core::EventId& id, std::string_view to) {
  return joined(taken_prefix, id.view(), destination_bytes(to));
}
std::string open_prefix(std::string_view source, std::string_view to) {
  return joined("q", destination_bytes(source), destination_bytes(to));
}
std::string open_key(std::string_view source, std::string_view to, Time since, const core::EventId& id) {
  return joined("q", destination_bytes(source), destination_bytes(to), time_bytes(since), id.view());
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

std::string job_key(std::uint64_t number) {
  std::string key(job_prefix);
  append_big(key, number);
  return key;
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
  const std::uint64_t at = read_big(key.substr(key.size() - tail, 8)) ^ inbox_sign_bit;
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
  if (!in.whole() || event.id != id) return corrupt_value("event " + id.text());
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
  if (zero == std::string_view::npos) return corrupt_value("tally");
  tally.source = std::string(key.substr(1, zero - 1));
  tally.to = std::string(key.substr(zero + 1));
  tally.accepted = in.number();
  for (std::uint64_t& count : tally.by_state) count = in.number();
  tally.bytes = in.number();
  if (!in.whole()) return corrupt_value("tally of " + tally.source);
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
  if (!in.whole()) return corrupt_value("control of " + control.to);
  return control;
}

}  // namespace semel::store
