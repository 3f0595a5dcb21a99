// Beside the response, everything before it and what it belongs to is authenticated.
#include "core/seal.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/codec.h"
#include "core/crypto.h"
#include "core/sha256.h"
#include <semel/key.h>
#include <semel/response.h>
#include <semel/result.h>

namespace semel::core {
namespace {

constexpr std::uint16_t sealed_status = 0;
constexpr char version = 1;
constexpr std::size_t id_bytes = 4;
constexpr std::size_t id_at = 2;
constexpr std::size_t salt_at = id_at + id_bytes;
constexpr std::size_t head_bytes = salt_at + sizeof(Salt);
constexpr std::size_t half = sizeof(Salt) / 2;
static_assert(half == sizeof(AesNonce));

template <class Bytes>
std::string_view view(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void append_number(std::string& out, std::uint64_t number) {
  for (int shift = 0; shift < 64; shift += 8) out.push_back(static_cast<char>(number >> static_cast<unsigned>(shift)));
}

// Of fixed size, so nothing can be mistaken for its neighbour.
std::string context_of(std::string_view head, const Belonging& of) {
  std::string context("semel sealed response v1");
  context.append(head).append(view(of.id));
  append_number(context, of.fence.number);
  append_number(context, of.fence.owner);
  if (of.fingerprint) context.append(view(of.fingerprint->digest));
  return context;
}

AesKey record_key(const AesKey& key, std::string_view salt) {
  const std::string made = hmac(HmacHash::sha256, view(key), std::string("semel record key v1").append(salt));
  AesKey derived{};
  check(made.size() == derived.size(), "SHA-256 makes a key of 256 bits");
  std::ranges::copy(made, derived.begin());
  return derived;
}

AesNonce nonce_of(std::string_view salt) {
  AesNonce nonce{};
  std::ranges::copy(salt.substr(half), nonce.begin());
  return nonce;
}

std::unexpected<Error> refused(const char* why) {
  return fail(Code::corrupt, std::string("encrypted response refused: ") + why);
}

}  // namespace

bool is_sealed(const Response& response) {
  return response.status == sealed_status;
}

Seals::Seals(const std::vector<AesKey>& keys) {
  check(!keys.empty(), "there is a key to encrypt with");
  for (const AesKey& key : keys) {
    const Digest name = sha256_parts("semel key id v1", {view(key)});
    keys_.push_back({.id = std::string(view(name).substr(0, id_bytes)), .key = key});
  }
}

Response Seals::seal(const Response& response, const Belonging& of, const Salt& salt) const {
  check(!is_sealed(response), "a response is sealed once");
  const Named& first = keys_.front();
  std::string body{version, of.fingerprint ? '\1' : '\0'};
  body.append(first.id).append(view(salt));
  body += aes_256_gcm_seal(record_key(first.key, view(salt).substr(0, half)), nonce_of(view(salt)),
                           context_of(body, of), encode_response(response));
  return {.status = sealed_status, .fields = {}, .body = std::move(body), .body_kept = true};
}

Result<SharedResponse> Seals::open(const Response& sealed, const Belonging& of) const {
  const std::string_view body = sealed.body;
  if (!is_sealed(sealed) || body.size() < head_bytes) return refused("it is not whole");
  if (body[0] != version) return refused("its version is not known here");
  const std::string_view head = body.substr(0, head_bytes);
  const std::string_view salt = head.substr(salt_at);
  Belonging bound = of;
  if (body[1] == '\0') bound.fingerprint.reset();
  const std::string context = context_of(head, bound);
  bool known = false;
  for (const Named& named : keys_) {
    if (named.id != head.substr(id_at, id_bytes)) continue;
    known = true;
    const std::optional<std::string> text =
        aes_256_gcm_open(record_key(named.key, salt.substr(0, half)), nonce_of(salt), context, body.substr(head_bytes));
    if (text) return decode_response(*text);
  }
  return refused(known ? "it was altered, or belongs to another claim" : "no key of encryption_keys fits it");
}

}  // namespace semel::core
