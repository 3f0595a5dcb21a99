// What operators did, in an order that nobody can change unseen: each entry has a hash over itself and the hash of the
// one before it.
//
//   hash = SHA-256("semel audit v1" LF previous hash in hexadecimal LF number LF text)
//
// The first entry has the number 1 and a previous hash of zeros. A text is one line. An act is written here before it
// is done, so a log that cannot be written lets nothing be done.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <semel/async.h>
#include <semel/key.h>

namespace semel::store {

struct AuditEntry {
  std::uint64_t number = 0;
  Digest hash{};
  std::string text;
};

Digest audit_hash(const Digest& previous, std::uint64_t number, std::string_view text);

class AuditLog {
 public:
  virtual ~AuditLog() = default;

  // Adds an entry behind the last one. Durable when it returns; returns the entry. Code::unavailable: it may or may not
  // have been written. Code::corrupt: what is there is not a whole chain, and nothing is added to it.
  virtual Async<AuditEntry> append(std::string text) = 0;

  // At most `limit` entries behind the one with the number `after`, in order.
  virtual Async<std::vector<AuditEntry>> read(std::uint64_t after, std::size_t limit) = 0;
};

}  // namespace semel::store
