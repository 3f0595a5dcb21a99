// Fuzzes the reader of Redis' protocol: any bytes, cut in two at the place that the first byte names.
//
// However they are cut, the replies are the same, and whatever hiredis reads as well it reads as the same. Ours refuses
// more (sizes, signs of numbers), and hiredis 0.14 knows no push replies.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <hiredis/hiredis.h>

#include "core/check.h"
#include "store/redis/resp.h"

namespace {

using semel::store::redis::RespReader;
using semel::store::redis::RespValue;

struct Read {
  std::vector<RespValue> values;
  bool broken = false;

  friend bool operator==(const Read&, const Read&) = default;
};

void read_on(RespReader& reader, Read& read) {
  while (!read.broken) {
    auto next = reader.next();
    read.broken = !next;
    if (!next || !*next) return;
    read.values.push_back(**std::move(next));
  }
}

Read read_cut(std::string_view bytes, std::size_t cut) {
  RespReader reader;
  Read read;
  reader.feed(bytes.substr(0, cut));
  read_on(reader, read);
  reader.feed(bytes.substr(cut));
  read_on(reader, read);
  return read;
}

bool same(const RespValue& ours, const redisReply& theirs) {
  using Kind = RespValue::Kind;
  const std::string_view text(theirs.str == nullptr ? "" : theirs.str, theirs.str == nullptr ? 0 : theirs.len);
  switch (theirs.type) {
    case REDIS_REPLY_STATUS:
      return ours.kind == Kind::status && ours.text == text;
    case REDIS_REPLY_ERROR:
      return ours.kind == Kind::error && ours.text == text;
    case REDIS_REPLY_INTEGER:
      return ours.kind == Kind::number && ours.number == theirs.integer;
    case REDIS_REPLY_STRING:
      return ours.kind == Kind::text && ours.text == text;
    case REDIS_REPLY_NIL:
      return ours.kind == Kind::nothing;
    case REDIS_REPLY_ARRAY:
      break;
    default:
      return false;
  }
  if (ours.kind != Kind::list || ours.items.size() != theirs.elements) return false;
  for (std::size_t i = 0; i < theirs.elements; ++i) {
    if (!same(ours.items[i], *theirs.element[i])) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > 4'096) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Read whole = read_cut(bytes, 0);
  semel::core::check(read_cut(bytes, data[0] % (bytes.size() + 1)) == whole, "a cut changes nothing");
  if (bytes.find('>') != std::string_view::npos) return 0;
  const std::unique_ptr<redisReader, decltype(&redisReaderFree)> theirs(redisReaderCreate(), &redisReaderFree);
  redisReaderFeed(theirs.get(), bytes.data(), bytes.size());
  for (const RespValue& ours : whole.values) {
    void* reply = nullptr;
    if (redisReaderGetReply(theirs.get(), &reply) != REDIS_OK) return 0;
    semel::core::check(reply != nullptr, "what we read as whole is whole");
    const std::unique_ptr<void, decltype(&freeReplyObject)> kept(reply, &freeReplyObject);
    semel::core::check(same(ours, *static_cast<redisReply*>(reply)), "both read the same");
  }
  if (whole.broken) return 0;
  void* more = nullptr;
  const bool asked = redisReaderGetReply(theirs.get(), &more) == REDIS_OK;
  const std::unique_ptr<void, decltype(&freeReplyObject)> kept(more, &freeReplyObject);
  semel::core::check(!asked || more == nullptr, "what we wait for is not there");
  return 0;
}
