// The audit log of an embedded store: the file `semel.audit` in its folder, one line per entry.
//
//   number SP hash in hexadecimal SP text LF
//
// Each line is synced before append() returns. A last line without its end was never acknowledged, and is cut off. A
// file whose chain is broken is left as it is, and nothing is added to it. What was read is remembered by its places,
// so that a page costs what it shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "store/aside.h"
#include "store/audit_log.h"
#include <semel/async.h>
#include <semel/key.h>
#include <semel/result.h>

namespace semel::store::embedded {

class AuditFile : public AuditLog {
 public:
  // The file is made with the first entry.
  explicit AuditFile(const std::filesystem::path& folder) : path_(folder / "semel.audit") {}
  ~AuditFile() override;
  AuditFile(const AuditFile&) = delete;
  AuditFile& operator=(const AuditFile&) = delete;

  Async<AuditEntry> append(std::string text) override;
  Async<std::vector<AuditEntry>> read(std::uint64_t after, std::size_t limit) override;

 private:
  static constexpr std::size_t marked_every = 256;

  Result<AuditEntry> append_now(const std::string& text);
  Result<std::vector<AuditEntry>> read_now(std::uint64_t after, std::size_t limit);
  Result<std::vector<AuditEntry>> read_from(int file, std::uint64_t after, std::size_t limit);
  Result<void> open();

  const std::filesystem::path path_;
  // Of the thread of aside_.
  int file_ = -1;
  std::uint64_t last_number_ = 0;
  Digest last_hash_{};
  std::vector<std::uint64_t> marks_;  // where entry 1, and each that follows after `marked_every`, begins
  Aside aside_;
};

}  // namespace semel::store::embedded
