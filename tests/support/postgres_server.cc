// How a server is made, started and ended. It does not run as root, so programs go through setpriv if we do.
#include "support/postgres_server.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <semel/clock.h>
#include <semel/postgres.h>

namespace semel::test {
namespace {

const std::string programs = "/usr/lib/postgresql/15/bin/";
constexpr auto start_max = std::chrono::seconds(60);

using Link = std::unique_ptr<PGconn, decltype(&PQfinish)>;
using Reply = std::unique_ptr<PGresult, decltype(&PQclear)>;

}  // namespace

pid_t start_unprivileged(std::vector<std::string> command, const std::filesystem::path& log) {
  std::vector<std::string> whole{"setpriv", "--pdeathsig", "QUIT"};
  if (geteuid() == 0) whole.insert(whole.end(), {"--reuid", "postgres", "--regid", "postgres", "--clear-groups"});
  whole.insert(whole.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (std::string& word : whole) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no new process");
  if (pid > 0) return pid;
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

void run_unprivileged(const std::vector<std::string>& command, const std::filesystem::path& log) {
  int status = 0;
  const pid_t pid = start_unprivileged(command, log);
  if (waitpid(pid, &status, 0) != pid || status != 0) {
    throw std::runtime_error(command.front() + " failed; see " + log.string());
  }
}

void end_process(pid_t pid, int signal) {
  kill(pid, signal);
  waitpid(pid, nullptr, 0);
}

PostgresServer::PostgresServer(const std::vector<std::string>& settings) {
  std::string pattern = (std::filesystem::temp_directory_path() / "semel-pg-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
  folder_ = pattern;
  if (geteuid() == 0) {
    const passwd* user = getpwnam("postgres");
    if (user == nullptr || chown(pattern.c_str(), user->pw_uid, user->pw_gid) != 0) {
      throw std::runtime_error("there is no user postgres to run the server as");
    }
  }
  const std::string data = (folder_ / "data").string();
  run_unprivileged(
      {programs + "initdb", "-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"},
      folder_ / "initdb.log");
  std::ofstream config(folder_ / "data" / "postgresql.conf", std::ios::app);
  config << "listen_addresses = ''\nunix_socket_directories = '" << folder_.string() << "'\n"
         << "fsync = off\nmax_connections = 50\nshared_buffers = 64MB\n";
  for (const std::string& line : settings) config << line << '\n';
  config.close();
  start();
}

PostgresServer::~PostgresServer() {
  if (pid_ > 0) crash();
  std::error_code ignored;  // a destructor must not throw
  std::filesystem::remove_all(folder_, ignored);
}

PostgresServer& PostgresServer::shared() {
  static PostgresServer server;
  static const bool prepared = [] {
    const std::unique_ptr<Clock> clock = make_system_clock();
    if (!migrate_postgres(*clock, server.url())) throw std::runtime_error("the schema could not be created");
    return true;
  }();
  (void)prepared;
  return server;
}

void PostgresServer::start() {
  pid_ = start_unprivileged({programs + "postgres", "-D", (folder_ / "data").string()}, folder_ / "server.log");
  const auto end = std::chrono::steady_clock::now() + start_max;
  while (PQping(url().c_str()) != PQPING_OK) {
    if (std::chrono::steady_clock::now() > end || waitpid(pid_, nullptr, WNOHANG) == pid_) {
      throw std::runtime_error("PostgreSQL does not start; see " + (folder_ / "server.log").string());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void PostgresServer::crash() {
  end_process(std::exchange(pid_, -1), SIGQUIT);
}

std::string PostgresServer::url(const std::string& database) const {
  return "postgres:///" + database + "?host=" + folder_.string() + "&user=postgres";
}

std::string PostgresServer::run(const std::string& sql, const std::string& database) const {
  const Link link(PQconnectdb(url(database).c_str()), &PQfinish);
  const Reply reply(PQexec(link.get(), sql.c_str()), &PQclear);
  const ExecStatusType status = PQresultStatus(reply.get());
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw std::runtime_error(PQerrorMessage(link.get()));
  return PQntuples(reply.get()) > 0 && PQnfields(reply.get()) > 0 ? PQgetvalue(reply.get(), 0, 0) : "";
}

std::string PostgresServer::fresh_database() {
  const std::string name = "test_" + std::to_string(++databases_);
  run("CREATE DATABASE " + name);
  const std::unique_ptr<Clock> clock = make_system_clock();
  const auto migrated = migrate_postgres(*clock, url(name));
  if (!migrated) throw std::runtime_error("the schema could not be created: " + migrated.error().detail);
  return url(name);
}

}  // namespace semel::test
