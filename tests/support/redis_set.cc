// How sets are started, and ended.
#include "support/redis_set.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <signal.h>
#include <sys/wait.h>

#include "support/redis_server.h"

namespace semel::test {
namespace {

std::filesystem::path fresh_folder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "semel-redis-set-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder: " + pattern);
  return pattern;
}

void remove_folder(const std::filesystem::path& folder) {
  std::error_code ignored;  // a destructor must not throw
  std::filesystem::remove_all(folder, ignored);
}

template <class Holds>
void await(const Holds& holds, const std::string& what) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) throw std::runtime_error("it never happened: " + what);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

// An authority, and certificates for a server and for a client.
void make_certificates(const std::filesystem::path& folder) {
  std::ofstream(folder / "names") << "subjectAltName=DNS:localhost,IP:127.0.0.1\n";
  const std::string curve = " -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes";
  std::string script = "cd " + folder.string() + " && openssl req -x509" + curve +
                       " -days 2 -subj /CN=authority -keyout ca.key -out ca.pem";
  for (const std::string name : {"server", "client"}) {
    script += " && openssl req" + curve + " -subj /CN=" + name + " -keyout " + name + ".key -out " + name + ".csr";
    script += " && openssl x509 -req -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile " +
              "names -out " + name + ".pem";
  }
  shell("(" + script + ") 2>&1");
  if (!std::filesystem::exists(folder / "client.pem")) throw std::runtime_error("openssl has made no certificates");
}

}  // namespace

std::string shell(const std::string& command) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) throw std::runtime_error("no shell");
  std::string text;
  std::array<char, 4096> room{};
  for (std::size_t size = 0; (size = std::fread(room.data(), 1, room.size(), pipe.get())) > 0;) {
    text.append(room.data(), size);
  }
  return text;
}

RedisBehindTls::RedisBehindTls() : folder_(fresh_folder()), port_(free_port()) {
  make_certificates(folder_);
  std::vector<std::string> all = settings();
  all.insert(all.end(), {"tls-port " + std::to_string(port_), "bind 127.0.0.1"});
  server_ = std::make_unique<RedisServer>(all);
}

std::vector<std::string> RedisBehindTls::settings() const {
  return {"tls-cert-file " + file("server.pem"), "tls-key-file " + file("server.key"),
          "tls-ca-cert-file " + file("ca.pem"), "tls-auth-clients yes"};
}

std::string RedisBehindTls::for_shell() const {
  return " --tls --cacert " + file("ca.pem") + " --cert " + file("client.pem") + " --key " + file("client.key");
}

std::string RedisBehindTls::for_url() const {
  return "?ca=" + file("ca.pem") + "&cert=" + file("client.pem") + "&key=" + file("client.key");
}

RedisBehindTls::~RedisBehindTls() {
  server_.reset();
  remove_folder(folder_);
}

RedisBehindTls& RedisBehindTls::shared() {
  static RedisBehindTls set;
  return set;
}

std::string RedisBehindTls::url(const std::string& host) const {
  return url_with(host, for_url());
}

std::string RedisBehindTls::url_with(const std::string& host, const std::string& options) const {
  return "rediss://" + host + ":" + std::to_string(port_) + options;
}

RedisWithSentinel::RedisWithSentinel(std::vector<std::string> settings, const RedisBehindTls* tls)
    : tls_(tls), folder_(fresh_folder()), port_(free_port()) {
  const std::string listen = tls_ == nullptr ? "port " : "tls-port ";
  std::vector<std::string> secrets = tls_ == nullptr ? std::vector<std::string>() : tls_->settings();
  if (tls_ != nullptr) secrets.emplace_back("tls-replication yes");
  settings.insert(settings.end(), secrets.begin(), secrets.end());
  const std::string port = std::to_string(free_port());
  settings.insert(settings.end(), {listen + port, "bind 127.0.0.1", "repl-diskless-sync-delay 0"});
  servers_.push_back(std::make_unique<RedisServer>(settings));
  settings[settings.size() - 3] = listen + std::to_string(free_port());
  settings.push_back("replicaof 127.0.0.1 " + port);
  servers_.push_back(std::make_unique<RedisServer>(settings));
  const std::filesystem::path config = folder_ / "sentinel.conf";
  std::ofstream file(config);
  if (tls_ != nullptr) file << "port 0\n";
  for (const std::string& each : secrets) file << each << "\n";
  file << listen << port_ << "\nbind 127.0.0.1\ndir " << folder_.string() << "\nsentinel monitor main 127.0.0.1 "
       << port << " 1\nsentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 3000\n";
  file.close();
  pid_ = start_program({"redis-sentinel", config.string()}, folder_ / "log");
  await([&] { return primary().text({"INFO", "replication"}).find("state=online") != std::string::npos; }, "replica");
  await([&] { return ask("SENTINEL REPLICAS main").find("master-link-status\nok") != std::string::npos; }, "Sentinel");
}

RedisWithSentinel::~RedisWithSentinel() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  servers_.clear();
  remove_folder(folder_);
}

RedisWithSentinel& RedisWithSentinel::shared() {
  static RedisWithSentinel set;
  return set;
}

std::string RedisWithSentinel::url() const {
  const std::string place = "+sentinel://127.0.0.1:" + std::to_string(port_) + "/main";
  return tls_ == nullptr ? "redis" + place : "rediss" + place + tls_->for_url();
}

std::string RedisWithSentinel::ask(const std::string& words) const {
  const std::string secrets = tls_ == nullptr ? std::string() : tls_->for_shell();
  return shell("redis-cli -p " + std::to_string(port_) + secrets + " " + words + " 2>&1");
}

}  // namespace semel::test
