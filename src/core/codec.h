// Records as bytes: versioned, checksummed, length-checked. docs/record-format.md is the layout.
//
// decode() refuses rather than guesses: a flipped bit, a missing or surplus byte, an unknown version, state or flag, or
// a record that belongs to another key is Code::corrupt, and the message says which.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::core {

std::string encode(const Record& record);

// `id` is where the record was found: a record copied under another key is refused.
Result<Record> decode(std::string_view bytes, const Digest& id);

// A response alone, to be wrapped before it becomes part of a record (seal.h). It has no version and no checksum: the
// wrapping has both.
std::string encode_response(const Response& response);
Result<SharedResponse> decode_response(std::string_view bytes);

// What an expiry pass needs to know, read without decoding the rest or verifying the checksum. Null if the version is
// not known here. Only to be used where being wrong is harmless: a compaction filter with a margin.
struct RecordOutline {
  Record::State state;
  Time expires_at;
};
std::optional<RecordOutline> outline(std::string_view bytes);

}  // namespace semel::core
