// The id of an event in the inbox: 16 bytes that say when it was accepted, by which process, and as which one there.
//
//   milliseconds 6 · holder 4 · sequence 6        big-endian: compared as bytes, ids are in the order of arrival
//
// Nothing else is needed to find an event again. An id is no secret and says nothing of what the event is about.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/encoding.h"
#include <semel/clock.h>

namespace semel::core {

struct EventId {
  static constexpr std::size_t size = 16;

  std::array<std::uint8_t, size> bytes{};

  static EventId make(Time at, std::uint32_t holder, std::uint64_t sequence) {
    EventId id;
    id.write(0, 6, static_cast<std::uint64_t>(at.time_since_epoch().count()));
    id.write(6, 4, holder);
    id.write(10, 6, sequence);
    return id;
  }
  // The lowest id of that millisecond: where a search by time begins.
  static EventId first_at(Time at) { return make(at, 0, 0); }

  static std::optional<EventId> from_bytes(std::string_view text) {
    if (text.size() != size) return std::nullopt;
    EventId id;
    std::memcpy(id.bytes.data(), text.data(), size);
    return id;
  }
  static std::optional<EventId> from_text(std::string_view text) {
    const std::optional<std::string> raw = from_hex(text);
    return raw ? from_bytes(*raw) : std::nullopt;
  }

  [[nodiscard]] Time accepted_at() const { return Time{Millis{static_cast<Millis::rep>(read(0, 6))}}; }
  [[nodiscard]] std::string_view view() const { return {reinterpret_cast<const char*>(bytes.data()), size}; }
  [[nodiscard]] std::string text() const { return to_hex(view()); }

  friend auto operator<=>(const EventId&, const EventId&) = default;

 private:
  void write(std::size_t at, std::size_t count, std::uint64_t value) {
    for (std::size_t i = count; i > 0; --i, value >>= 8U) bytes[at + i - 1] = static_cast<std::uint8_t>(value & 0xFFU);
  }
  [[nodiscard]] std::uint64_t read(std::size_t at, std::size_t count) const {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i) value = (value << 8U) | bytes[at + i];
    return value;
  }
};

}  // namespace semel::core
