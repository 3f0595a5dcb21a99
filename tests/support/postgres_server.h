// A PostgreSQL server for tests: its own folder, a socket in that folder, no port; gone when the test program ends,
// even if that crashes. Durability is switched off unless a test asks for it: what is tested is what the server is
// told.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <sys/types.h>

namespace semel::test {

class PostgresServer {
 public:
  // `settings` are lines of postgresql.conf. Throws if the server does not start.
  explicit PostgresServer(const std::vector<std::string>& settings = {});
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  // One for the whole program, with the schema in it; started when it is first asked for.
  static PostgresServer& shared();

  [[nodiscard]] std::string url(const std::string& database = "postgres") const;
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] pid_t pid() const { return pid_; }

  // Runs statements, and gives the first column of the first row of the last one ("" if there is none). Throws.
  std::string run(const std::string& sql, const std::string& database = "postgres") const;
  // A database of its own for one test, with the schema in it; returns its address.
  std::string fresh_database();

  void start();
  // As `pg_ctl stop -m immediate`: as good as a crash.
  void crash();

 private:
  std::filesystem::path folder_;
  pid_t pid_ = -1;
  int databases_ = 0;
};

// Runs a program as a user that PostgreSQL lets run a server, in the background; it ends with us. Returns its id.
pid_t start_unprivileged(std::vector<std::string> command, const std::filesystem::path& log);
// Runs it to its end; throws unless it succeeds.
void run_unprivileged(const std::vector<std::string>& command, const std::filesystem::path& log);
// Ends what start_unprivileged started and waits for it.
void end_process(pid_t pid, int signal);

}  // namespace semel::test
