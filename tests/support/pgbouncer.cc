#include "support/pgbouncer.h"

#include <chrono>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <libpq-fe.h>
#include <signal.h>
#include <sys/stat.h>

#include "support/postgres_server.h"

namespace semel::test {

PgBouncer::PgBouncer(const PostgresServer& server) : folder_(server.folder()) {
  const std::string folder = folder_.string();
  std::ofstream(folder_ / "pgbouncer.ini")
      << "[databases]\n* = host=" << folder << " user=postgres\n"
      << "[pgbouncer]\nlisten_port = 6432\nunix_socket_dir = " << folder
      << "\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 2\nserver_login_retry = 0.1\n";
  pid_ = start_unprivileged({"/usr/sbin/pgbouncer", folder + "/pgbouncer.ini"}, "/dev/null");
  for (int tries = 0; PQping(url().c_str()) != PQPING_OK; ++tries) {
    if (tries == 500) throw std::runtime_error("PgBouncer does not start");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

PgBouncer::~PgBouncer() {
  end_process(pid_, SIGKILL);
}

PgBouncer& PgBouncer::shared() {
  static PgBouncer bouncer(PostgresServer::shared());
  return bouncer;
}

std::string PgBouncer::url(const std::string& database) const {
  return "postgres:///" + database + "?host=" + folder_.string() + "&port=6432&user=postgres";
}

}  // namespace semel::test
