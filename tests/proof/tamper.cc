// Alters what a closed embedded store holds, as somebody could who can write to its files: tamper FOLDER KEY HARM...
//
// KEY is the store's encryption key in hexadecimal digits, without which its ledger does not open, or "" where it has
// none. The n-th harm is done to the n-th key in the order of expiry (which is that of claims, where all live equally
// long). Records are written through the store's own ledger, so that checksums are right and only what is inside is
// wrong:
//
//   nothing        left alone
//   bit            one bit of the body
//   cut            the last bytes of the body
//   line-break     a CR LF and a field of one's own in the value of a field
//   nul            a NUL there
//   other          the answer of the last key
//   key-id         of an encrypted answer: made with a key that nobody has
//   made-up        an answer of one's own, not encrypted
//
// For faults/injection.py.
#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/crypto.h"
#include "store/embedded/rocks_ledger.h"
#include "support/hex.h"
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/result.h>
#include <semel/store.h>
#include <semel/stores.h>

namespace {

using semel::Response;
using semel::core::check;

constexpr std::size_t keys_max = 1'000;
constexpr std::size_t key_id_at = 2;  // in a sealed body (core/seal.h)

Response with_value(Response response, std::string_view value) {
  if (response.fields.empty()) response.fields.push_back({.name = "X-Planted", .value = {}});
  response.fields.front().value.append(value);
  return response;
}

Response with_flipped_bit(Response response, std::size_t at) {
  response.body.at(at) = static_cast<char>(response.body.at(at) ^ 1);
  return response;
}

using Harm = std::function<Response(const Response& own, const Response& other)>;

const std::map<std::string_view, Harm>& harms() {
  static const std::map<std::string_view, Harm> all{
      {"nothing", [](const Response& own, const Response&) { return own; }},
      {"bit", [](const Response& own, const Response&) { return with_flipped_bit(own, own.body.size() / 2); }},
      {"cut",
       [](const Response& own, const Response&) {
         Response response = own;
         response.body.resize(response.body.size() - 5);
         return response;
       }},
      {"line-break", [](const Response& own, const Response&) { return with_value(own, "\r\nX-Planted: yes"); }},
      {"nul", [](const Response& own, const Response&) { return with_value(own, std::string_view("\0yes", 4)); }},
      {"other", [](const Response&, const Response& other) { return other; }},
      {"key-id", [](const Response& own, const Response&) { return with_flipped_bit(own, key_id_at); }},
      {"made-up", [](const Response&, const Response&) { return Response{.fields = {}, .body = "planted"}; }}};
  return all;
}

std::vector<semel::core::AesKey> keys_of(std::string_view digits) {
  if (digits.empty()) return {};
  const std::string bytes = semel::test::from_hex(digits);
  semel::core::AesKey key{};
  semel::core::check(bytes.size() == key.size(), "the key has its size");
  std::ranges::copy(bytes, key.begin());
  return {key};
}

semel::Record read(semel::store::embedded::Ledger& ledger, const semel::store::embedded::Expiry& entry) {
  const auto found = ledger.read(entry.id);
  semel::core::check(found && *found && (**found).response != nullptr, "the key has an answer");
  return **found;
}

void tamper(semel::store::embedded::Ledger& ledger, const std::vector<std::string_view>& names) {
  const auto keys = ledger.expiries(semel::Time::max(), keys_max, std::nullopt);
  semel::core::check(keys && keys->size() > names.size(), "there is a key for each harm, and one more");
  const semel::Record last = read(ledger, keys->back());
  std::vector<semel::store::embedded::Change> changes;
  for (std::size_t i = 0; i < names.size(); ++i) {
    semel::Record record = read(ledger, (*keys)[i]);
    const auto harm = harms().find(names[i]);
    semel::core::check(harm != harms().end(), "the harm is known");
    record.response = std::make_shared<const Response>(harm->second(*record.response, *last.response));
    changes.push_back({.id = (*keys)[i].id, .record = record, .replaced_expiry = record.expires_at});
  }
  semel::core::check(ledger.commit(changes).has_value(), "it is written");
}

}  // namespace

int main(int count, char** words) {
  if (count < 4) {
    std::fputs("tamper FOLDER KEY HARM...\n", stderr);
    return 2;
  }
  const std::unique_ptr<semel::Clock> clock = semel::make_system_clock();
  auto ledger = semel::store::embedded::RocksLedger::open(*clock, {.path = words[1]}, keys_of(words[2]));
  if (!ledger) {
    std::fprintf(stderr, "%s\n", ledger.error().detail.c_str());
    return 1;
  }
  tamper(**ledger, {words + 3, words + count});
  return 0;
}
