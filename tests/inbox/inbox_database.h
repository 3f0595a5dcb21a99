// A database for the tests of the inbox on PostgreSQL.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/crypto.h"
#include "store/capable_store.h"
#include <semel/clock.h>

namespace semel::test {

enum class InboxServer : std::uint8_t { none, postgres, pgbouncer };

inline constexpr Millis contract_beat{600'000};   // no gateway says twice that it lives while a test runs
inline constexpr Millis dead_by_then{2'000'000};  // three beats, and more

class InboxDatabase {
 public:
  InboxDatabase(std::string url, std::string name) : url_(std::move(url)), name_(std::move(name)) {}

  // The same for each test that asks for the same.
  static std::shared_ptr<InboxDatabase> of(InboxServer server, bool sealed);
  // Another one, on the same server.
  static std::shared_ptr<InboxDatabase> fresh();

  void clear() const;
  // Everything that is stored becomes so much older.
  void age(Millis by) const;
  // Throws if it cannot be opened.
  [[nodiscard]] store::CapableStore open(Clock& clock, const std::vector<core::AesKey>& keys = {}) const;
  // Returns the first column of the first row. Throws.
  std::string run(const std::string& sql) const;
  [[nodiscard]] const std::string& url() const { return url_; }

 private:
  std::string url_;
  std::string name_;
};

}  // namespace semel::test
