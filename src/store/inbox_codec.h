// The keys and values of an inbox, as bytes. Times and ids are big-endian in keys, so that their order is that of time.
//
//   e id                       event       what was accepted, and how far each delivery is
//   p id                       parcel      what it came with (core/codec.h)
//   w to urgency due id        –           a delivery that waits for a time
//   l to object stamp id       –           a delivery that has not ended, in the order of its object
//   o to object                time, stamp the newest event of an object that is done (Line::Kind::latest)
//   a id to                    –           a delivery that take() has made to run
//   q source to since id       –           a delivery that had to wait, and has not ended
//   r time id                  what        what is to be dropped then
//   n source 0 to              tally       how many are in which state
//   c to                       control     what operators have decided
//   j number                   job         bulk work: what it is about, and how far it is
//   m                          id          every delivery of an event before this is waiting, has ended, or stands
//   under a
//   x name                     note        no part of the inbox: see store/notes.h
//
// `to` and `source` in a key are the first eight bytes of the SHA-256 of the name; in a tally they are the name itself.
// A value has a version and a checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/event_id.h"
#include "store/inbox.h"
#include "store/inbox_desk.h"
#include "store/inbox_jobs.h"
#include <semel/clock.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store {

std::string destination_bytes(std::string_view to);

std::string event_key(const core::EventId& id);
std::string parcel_key(const core::EventId& id);
std::string due_prefix(std::string_view to, Urgency urgency);
inline constexpr std::size_t due_prefix_bytes = 10;
std::string due_key(std::string_view to, Urgency urgency, Time due, const core::EventId& id);
std::string line_prefix(std::string_view to, const Line& line);
inline constexpr std::size_t line_prefix_bytes = 9 + sizeof(ScopeDigest);
std::string line_key(std::string_view to, const Line& line, const core::EventId& id);
std::string newest_key(std::string_view to, const Line& line);
std::string taken_key(const core::EventId& id, std::string_view to);
std::string open_prefix(std::string_view source, std::string_view to);
inline constexpr std::size_t open_prefix_bytes = 17;
std::string open_key(std::string_view source, std::string_view to, Time since, const core::EventId& id);
std::string drop_key(Time at, const core::EventId& id);
std::string tally_key(const DeliveryTally& tally);
std::string control_key(std::string_view to);
std::string job_key(std::uint64_t number);
inline constexpr std::string_view mark_key = "m";
inline constexpr std::string_view taken_prefix = "a";
inline constexpr std::string_view event_prefix = "e";
inline constexpr std::string_view drop_prefix = "r";
inline constexpr std::string_view tally_prefix = "n";
inline constexpr std::string_view control_prefix = "c";
inline constexpr std::string_view job_prefix = "j";
inline constexpr std::string_view note_prefix = "x";
inline constexpr char parcel_tag = 'p';

// Of a key of `w`, `q` or `r`.
struct TimedKey {
  Time at;
  core::EventId id;
};
std::optional<TimedKey> timed_key(std::string_view key);
// The last sixteen bytes, or those behind the tag.
std::optional<core::EventId> id_at_end(std::string_view key);
std::optional<core::EventId> id_behind_tag(std::string_view key);

std::string time_bytes(Time at);

std::string encode_event(const AcceptedEvent& event);
Result<AcceptedEvent> decode_event(std::string_view bytes, const core::EventId& id);
std::string encode_tally(const DeliveryTally& tally);
Result<DeliveryTally> decode_tally(std::string_view key, std::string_view bytes);
std::string encode_control(const DestinationControl& control);
Result<DestinationControl> decode_control(std::string_view key, std::string_view bytes);
std::string encode_job(const InboxJob& job);
Result<InboxJob> decode_job(std::string_view bytes);

}  // namespace semel::store
