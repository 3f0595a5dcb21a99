// An origin that remembers, and is quick: proof_origin HOST PORT BOOK
//
// It does what tests/e2e/origin.py does, which says what that is: not idempotent, a line in BOOK for each arrival,
// synced before the answer, with a fresh nonce. Requests may ask for trouble (X-Delay-Ms, X-Refuse, X-Reply-Bytes,
// X-Pause-Ms), and GET /outcome?scope=SCOPE&key=KEY says what became of a key. Requests that arrive together share a
// sync.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <asm-generic/socket.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <fmt/format.h>

#include "core/check.h"
#include "core/encoding.h"
#include "load/book.h"
#include "load/line.h"

namespace semel::proof {
namespace {

constexpr int backlog = 512;
constexpr int patience_s = 600;
constexpr std::size_t nonce_bytes = 16;
constexpr int status_created = 201;
constexpr int status_refused = 503;
constexpr int base_hex = 16;

std::string reply_of(int status, std::string_view fields, std::string_view body) {
  return fmt::format("HTTP/1.1 {} Fine\r\n{}Content-Length: {}\r\n\r\n{}", status, fields, body.size(), body);
}

std::string nonce() {
  std::array<std::uint8_t, nonce_bytes> bytes{};
  core::check(::getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()), "there is chance");
  return core::to_hex(bytes);
}

std::size_t number_in(const Message& request, std::string_view name) {
  return std::strtoull(std::string(request.get(name, "0")).c_str(), nullptr, 10);
}

void wait_as_asked(const Message& request, std::string_view name) {
  if (const std::size_t wait_ms = number_in(request, name); wait_ms > 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
}

// The value of a parameter of the query.
std::string parameter(std::string_view target, std::string_view name) {
  const std::string wanted = std::string(name) + "=";
  std::size_t at = target.find("?" + wanted);
  if (at == std::string_view::npos) at = target.find("&" + wanted);
  core::check(at != std::string_view::npos, "the query names a scope and a key");
  const std::string_view text = target.substr(at + 1 + wanted.size());
  std::string value;
  for (std::size_t i = 0; i < text.size() && text[i] != '&'; ++i) {
    if (text[i] == '%') {
      value += static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, base_hex));
      i += 2;
    } else {
      value += text[i] == '+' ? ' ' : text[i];
    }
  }
  return value;
}

// The last answer of each scope and key.
class Answers {
 public:
  void keep(std::string scope, std::string key, const std::string& reply) {
    const std::lock_guard lock(mutex_);
    kept_[{std::move(scope), std::move(key)}] = reply;
  }
  std::optional<std::string> find(const std::string& scope, const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find({scope, key});
    return found == kept_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::string> kept_;
};

// A value of the record: null where a field is missing.
std::string field_or_null(const Message& request, std::string_view name) {
  const auto values = request.all(name);
  return values.empty() ? "null" : quoted(values.front());
}

std::string record_of(const Message& request) {
  return fmt::format(R"("scope": {}, "key": {}, "attempt": {}, "request": {}, "body": "{}", "at": {:.9f}}})",
                     field_or_null(request, "Authorization"), field_or_null(request, "Idempotency-Key"),
                     number_in(request, "Idempotency-Attempt"), field_or_null(request, "X-Request"),
                     digest_of(request.body), now_s());
}

std::string answer(const Message& request, Book& book, Answers& answers) {
  const std::string_view target = request.word(1);
  if (target.starts_with("/outcome?")) {
    const auto known = answers.find(parameter(target, "scope"), parameter(target, "key"));
    return known ? *known : reply_of(404, "", "");
  }
  if (request.word(0) != "POST") return reply_of(200, "", "alive");
  wait_as_asked(request, "X-Delay-Ms");
  if (!request.get("X-Refuse").empty()) {
    book.number_and_sync(R"("what": "refused", )" + record_of(request));
    return reply_of(status_refused, "", "nothing was done");
  }
  const std::string fresh = nonce();
  const auto seq =
      book.number_and_sync(fmt::format(R"("what": "effect", "nonce": "{}", )", fresh) + record_of(request));
  std::string body = fmt::format(R"({{"seq": {}, "nonce": "{}"}})", seq, fresh);
  body.resize(std::max(body.size(), number_in(request, "X-Reply-Bytes")), ' ');
  const std::string fields =
      fmt::format("Content-Type: application/json\r\nLocation: /effects/{}\r\nX-Nonce: {}\r\n", seq, fresh);
  std::string reply = reply_of(status_created, fields, body);
  answers.keep(std::string(request.get("Authorization")), std::string(request.get("Idempotency-Key")), reply);
  return reply;
}

void serve(int socket, Book& book, Answers& answers) {
  be_patient(socket, patience_s);
  Line line(socket);
  while (true) {
    auto request = line.read_head();
    if (!request) return;
    wait_as_asked(*request, "X-Pause-Ms");
    if (!line.read_body(*request) || !line.send(answer(*request, book, answers))) return;
  }
}

int listen_on(const Endpoint& at) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(at.port);
  core::check(::inet_pton(AF_INET, at.host.c_str(), &address.sin_addr) == 1, "a host is an IPv4 address");
  core::check(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0, "the port is free");
  core::check(::listen(listener, backlog) == 0, "the port can be listened on");
  return listener;
}

}  // namespace
}  // namespace semel::proof

int main(int count, char** words) {
  using namespace semel::proof;
  semel::core::check(count == 4, "proof_origin HOST PORT BOOK");
  const Endpoint at = endpoint_of(std::string(words[1]) + ":" + words[2]);
  Book book(words[3]);
  Answers answers;
  const int listener = listen_on(at);
  while (true) {
    const int socket = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket >= 0) std::thread(serve, socket, std::ref(book), std::ref(answers)).detach();
  }
}
