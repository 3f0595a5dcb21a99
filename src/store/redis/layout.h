// What lies in Redis, by name and by byte.
//
//   semel:{TAG}ID            the record of a key, or of an object whose events are ordered; ID is base64url of 32 bytes
//   semel:{TAG}ID:b:OWNER    a large answer, beside the record that names its owner
//   semel:{TAG}ID:e          channel: the key has ended, and somebody waits for it
//   semel:{TAG}:store        the marker of a prepared server: format and the random id of the store
//   semel:{TAG}:open         sorted set: records that are running or of unknown outcome, by the time of their claim
//   semel:{TAG}:beat:…       how far each connection of each gateway has come
//   semel:{0}:identity       how keys are named: "plain", or a mark and the wrapped identity
//   semel:{0}:audit          list: what operators did
//   semel:{0}:loss           list: losses that nobody has accepted yet;  semel:{0}:accepted  when they were accepted
//
// The tag is that of the bucket (buckets.h); a single server has one, and its tag is 0.
//
// The value of a record, numbers big-endian; scripts.cc reads the same bytes, counted from 1:
//
//    1 version   2 state (r running, d done, u unknown, f free)   3 waited   4 answer apart   5 doubted   6 reopening
//    9 fence   17 owner   25 claimed   33 lease   41 expires   49 fingerprint   81 scope   97 length of the namespace
//   98 namespace, then the answer: a record of core/codec.h that is bound to this id and fence
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <semel/fingerprint.h>
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::store::redis {

inline constexpr std::string_view single_tag = "0";
inline constexpr std::string_view identity_name = "semel:{0}:identity";
inline constexpr std::string_view audit_name = "semel:{0}:audit";
inline constexpr std::string_view loss_name = "semel:{0}:loss";
inline constexpr std::string_view accepted_name = "semel:{0}:accepted";

std::string record_name(const Digest& id, std::string_view tag = single_tag);
std::string body_name(const Digest& id, std::uint64_t owner, std::string_view tag = single_tag);
std::string channel_name(const Digest& id, std::string_view tag = single_tag);
std::string beat_name(std::string_view process, std::size_t slot, std::string_view tag = single_tag);
std::string marker_name(std::string_view tag = single_tag);
std::string index_name(std::string_view tag = single_tag);
// The id in the name of a record or a channel, and the tag. None if it is another name.
std::optional<Digest> id_in(std::string_view name);
std::string_view tag_in(std::string_view name);
// A pattern of SCAN for the names of records whose ids begin with these bytes.
std::string names_beginning(std::string_view id_begins);

std::string eight_bytes(std::uint64_t number);
std::uint64_t number_at(std::string_view bytes, std::size_t at);
std::string fence_bytes(const Fence& fence);

// Behind the fingerprint: scope and namespace, as a claim writes them.
std::string tail_of(const Key& key);
// The answer with the identity of its claim around it, checksummed: one that was copied or damaged is noticed.
std::string answer_bytes(const Digest& id, const Fence& fence, const SharedResponse& response);

// A record as the claim of a new key has written it. When it has ended, its state is d, and its answer follows.
std::string claimed_value(const Key& key, const Fingerprint& fingerprint, const Granted& granted, const Terms& terms);

struct StoredValue {
  Record record;
  bool apart = false;  // its answer has to be fetched: body_name() with the record's owner
};
// Code::corrupt: it cannot be read; the key stays blocked.
Result<StoredValue> decode_value(std::string_view bytes, const Digest& id);
// The answer of a record that is done. Code::corrupt: it is damaged, or that of another claim.
Result<SharedResponse> decode_answer(std::string_view bytes, const Record& record);

}  // namespace semel::store::redis
