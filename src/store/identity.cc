#include "store/identity.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/rand.h>

#include "core/check.h"
#include "core/crypto.h"
#include "core/identity.h"
#include "core/seal.h"
#include <semel/result.h>

namespace semel::store {
namespace {

constexpr std::string_view consequence =
    ". Without it every key would be forgotten and every retry would run again, so nothing is opened";

}  // namespace

core::Salt random_salt() {
  core::Salt salt{};
  core::check(RAND_bytes(salt.data(), static_cast<int>(salt.size())) == 1, "the system has randomness");
  return salt;
}

Newborn new_identity(const std::vector<core::AesKey>& keys) {
  core::check(!keys.empty(), "there is a key to wrap an identity with");
  Newborn made;
  core::check(RAND_priv_bytes(made.identity.data(), static_cast<int>(made.identity.size())) == 1,
              "the system has randomness");
  made.wrapped = core::wrap(made.identity, keys.front(), random_salt());
  return made;
}

Result<Known> open_identity(std::string_view wrapped, const std::vector<core::AesKey>& keys, std::string_view place) {
  if (keys.empty()) {
    std::string detail(place);
    detail
        .append(" names its keys by a secret that is encrypted, and store.encryption_keys is empty; put the keys back")
        .append(consequence);
    return fail(Code::invalid, std::move(detail));
  }
  const std::optional<core::Unwrapped> opened = core::unwrap(wrapped, keys);
  if (!opened) {
    std::string detail(place);
    detail.append(" names its keys by a secret that none of store.encryption_keys opens; put back the one that was ")
        .append("the first when this store was last started")
        .append(consequence);
    return fail(Code::invalid, std::move(detail));
  }
  Known known{.identity = opened->identity, .rewrapped = std::nullopt};
  if (opened->key != 0) known.rewrapped = core::wrap(opened->identity, keys.front(), random_salt());
  return known;
}

}  // namespace semel::store
