// How a server is started, asked and ended.
#include "support/redis_server.h"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/redis_url.h"
#include "store/redis/connection.h"
#include <semel/clock.h>

namespace semel::test {
namespace {

constexpr auto start_max = std::chrono::seconds(30);
constexpr int first_port = 12'000;
constexpr int last_port = 31'999;  // behind it are those that outgoing connections get

void execute(const std::vector<std::string>& command, const std::filesystem::path& log) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  _exit(127);
}

store::redis::RespValue ask_once(const std::string& url, const std::string& command) {
  const std::unique_ptr<Clock> clock = make_system_clock();
  const Result<core::RedisUrl> parsed = core::parse_redis_url(url);
  if (!parsed) throw std::runtime_error(parsed.error().detail);
  auto connection = store::redis::RedisConnection::open(*clock, *parsed, {}, Millis{5'000});
  if (!connection) throw std::runtime_error(connection.error().detail);
  Result<std::vector<store::redis::RespValue>> replies = connection->ask(*clock, command, 1, Millis{5'000});
  if (!replies) throw std::runtime_error(replies.error().detail);
  return std::move(replies->front());
}

}  // namespace

pid_t start_program(const std::vector<std::string>& command, const std::filesystem::path& log) {
  const pid_t pid = fork();
  if (pid < 0) throw std::runtime_error("no new process");
  if (pid == 0) execute(command, log);
  return pid;
}

std::uint16_t free_port() {
  static std::mutex mutex;
  static std::set<std::uint16_t> given;
  static std::mt19937 choose{std::random_device{}()};
  std::uniform_int_distribution<int> ports(first_port, last_port);
  const std::scoped_lock lock(mutex);
  for (int tries = 0; tries < 1'000; ++tries) {
    const auto port = static_cast<std::uint16_t>(ports(choose));
    if (!given.insert(port).second) continue;
    const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    const bool bound = bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    close(descriptor);
    if (bound) return port;
  }
  throw std::runtime_error("no free port");
}

RedisServer::RedisServer(std::vector<std::string> settings) : settings_(std::move(settings)) {
  // A disk that others keep busy makes a server stand still for longer than a store waits for it.
  const bool memory = ::access("/dev/shm", W_OK) == 0;
  const std::filesystem::path under =
      memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  std::string pattern = (under / "semel-redis-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
  folder_ = pattern;
  start();
}

RedisServer::~RedisServer() {
  if (pid_ > 0) crash();
  std::error_code ignored;  // a destructor must not throw
  std::filesystem::remove_all(folder_, ignored);
}

RedisServer& RedisServer::shared() {
  static RedisServer server;
  return server;
}

void RedisServer::start() {
  std::vector<std::string> command{"redis-server",
                                   "--port",
                                   "0",
                                   "--unixsocket",
                                   socket().string(),
                                   "--dir",
                                   folder_.string(),
                                   "--save",
                                   "",
                                   "--appendonly",
                                   "yes",
                                   "--appendfsync",
                                   "everysec"};
  for (const std::string& setting : settings_) {
    const std::size_t blank = setting.find(' ');
    command.push_back("--" + setting.substr(0, blank));
    command.push_back(setting.substr(blank + 1));
  }
  std::filesystem::remove(socket());
  const std::filesystem::path log = folder_ / "log";
  pid_ = start_program(command, log);
  const auto end = std::chrono::steady_clock::now() + start_max;
  for (;;) {
    try {
      if (!run({"PING"}).is_error("LOADING")) return;
    } catch (const std::runtime_error&) {
      if (std::chrono::steady_clock::now() > end || waitpid(pid_, nullptr, WNOHANG) == pid_) {
        throw std::runtime_error("Redis does not start; see " + log.string());
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

void RedisServer::crash() {
  const pid_t pid = std::exchange(pid_, -1);
  kill(pid, SIGKILL);
  kill(pid, SIGCONT);
  waitpid(pid, nullptr, 0);
}

std::string RedisServer::url(unsigned database) const {
  const std::string url = "redis://" + socket().string();
  return database == 0 ? url : url + "?database=" + std::to_string(database);
}

store::redis::RespValue RedisServer::run(std::initializer_list<std::string_view> words, unsigned database) const {
  std::string command;
  store::redis::append_command(command, words);
  return ask_once(url(database), command);
}

store::redis::RespValue RedisServer::run_words(const std::vector<std::string>& words) const {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string command;
  store::redis::append_command(command, views);
  return ask_once(url(), command);
}

std::string RedisServer::text(std::initializer_list<std::string_view> words, unsigned database) const {
  const store::redis::RespValue reply = run(words, database);
  return reply.kind == store::redis::RespValue::Kind::number ? std::to_string(reply.number) : reply.text;
}

}  // namespace semel::test
