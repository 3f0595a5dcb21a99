#include "core/read_key.h"

#include <algorithm>
#include <climits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <openssl/types.h>
#include <openssl/x509.h>

#include "core/openssl.h"

namespace semel::core {
namespace {

struct ReadKey {
  std::string info;
  Pkey key;
};

Pkey parsed(std::string_view info) {
  if (info.size() > INT_MAX) return nullptr;
  const unsigned char* rest = bytes(info);
  Pkey key(d2i_PUBKEY(nullptr, &rest, static_cast<long>(info.size())));
  if (rest != bytes(info) + info.size()) return nullptr;
  return key;
}

}  // namespace

EVP_PKEY* read_key(std::string_view info) {
  thread_local std::vector<ReadKey> remembered;  // the one that was used last is at the end
  const auto found = std::ranges::find(remembered, info, &ReadKey::info);
  if (found != remembered.end()) {
    std::rotate(found, found + 1, remembered.end());
    return remembered.back().key.get();
  }
  Pkey key = parsed(info);
  if (key == nullptr) return nullptr;
  if (remembered.size() == remembered_keys_max) remembered.erase(remembered.begin());
  remembered.push_back({.info = std::string(info), .key = std::move(key)});
  return remembered.back().key.get();
}

}  // namespace semel::core
