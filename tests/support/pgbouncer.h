// PgBouncer in transaction mode in front of a test's server: every transaction may get another connection.
#pragma once

#include <filesystem>
#include <string>

#include <sys/types.h>

#include "support/postgres_server.h"

namespace semel::test {

class PgBouncer {
 public:
  explicit PgBouncer(const PostgresServer& server);
  ~PgBouncer();
  PgBouncer(const PgBouncer&) = delete;
  PgBouncer& operator=(const PgBouncer&) = delete;

  // One for the whole program, in front of PostgresServer::shared().
  static PgBouncer& shared();

  [[nodiscard]] std::string url(const std::string& database = "postgres") const;

 private:
  std::filesystem::path folder_;
  pid_t pid_ = -1;
};

}  // namespace semel::test
