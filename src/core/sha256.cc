#include "core/sha256.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string_view>

#include <openssl/evp.h>
#include <openssl/types.h>

#include "core/check.h"
#include <semel/key.h>

namespace semel::core {
namespace {

const EVP_MD* algorithm() {
  // Fetching by name takes locks inside OpenSSL and costs more than hashing a key. Never freed: the process ends first.
  static const EVP_MD* const fetched = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  check(fetched != nullptr, "OpenSSL offers SHA-256");
  return fetched;
}

// A context per hash: keeping one per thread saves 30 ns of about 160 (64 bytes) or 690 (1 KiB), and is not worth the
// state. Short pieces are gathered first, because a call into OpenSSL costs more than they do.
class Hash {
 public:
  Hash() { check(EVP_DigestInit_ex2(context_.get(), algorithm(), nullptr) == 1, "SHA-256 starts"); }

  void add(std::string_view bytes) {
    if (bytes.size() > gathered_.size() - gathered_bytes_) flush();
    if (bytes.size() > gathered_.size()) return update(bytes);
    bytes.copy(gathered_.data() + gathered_bytes_, bytes.size());
    gathered_bytes_ += bytes.size();
  }

  void add_behind_its_length(std::string_view part) {
    std::array<char, 8> length{};
    for (std::size_t i = 0; i < length.size(); ++i) {
      length[i] = static_cast<char>(static_cast<std::uint64_t>(part.size()) >> (56U - 8U * i));
    }
    add({length.data(), length.size()});
    add(part);
  }

  Digest end() {
    flush();
    Digest digest{};
    unsigned int size = 0;
    check(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1 && size == digest.size(), "SHA-256 ends");
    return digest;
  }

 private:
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
  };
  void flush() {
    update({gathered_.data(), gathered_bytes_});
    gathered_bytes_ = 0;
  }
  void update(std::string_view bytes) {
    check(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1, "SHA-256 takes bytes");
  }

  std::unique_ptr<EVP_MD_CTX, Free> context_{EVP_MD_CTX_new()};
  std::array<char, 256> gathered_;
  std::size_t gathered_bytes_ = 0;
};

}  // namespace

Digest sha256(std::string_view bytes) {
  Hash hash;
  hash.add(bytes);
  return hash.end();
}

Digest sha256_parts(std::string_view tag, std::initializer_list<std::string_view> parts) {
  Hash hash;
  hash.add_behind_its_length(tag);
  for (const std::string_view part : parts) hash.add_behind_its_length(part);
  return hash.end();
}

}  // namespace semel::core
