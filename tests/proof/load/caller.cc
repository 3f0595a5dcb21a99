// One connection at a time, opened again when it breaks.
#include "load/caller.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>

#include "core/ascii.h"
#include "load/book.h"
#include "load/line.h"

namespace semel::proof {
namespace {

constexpr int patience_s = 15;
constexpr std::chrono::milliseconds pause{50};
constexpr std::array<std::string_view, 4> stored = {"Content-Type", "Location", "X-Nonce", "Idempotency-Expires"};
constexpr int successes_end = 300;

// Appends what an answer says.
Told hear_answer(std::string& record, const Message& reply) {
  const bool good = reply.status() < successes_end;
  const auto nonce = reply.all("X-Nonce");
  record += fmt::format(R"("kind": "{}", "digest": "{}", "nonce": {}, "fields": [)", good ? "ok" : "refused",
                        digest_of(reply.body), nonce.empty() ? "null" : quoted(nonce.front()));
  for (const std::string_view name : stored) {
    record += fmt::format(R"({}["{}", [)", name == stored.front() ? "" : ", ", name);
    std::string_view comma;
    for (const std::string& value : reply.all(name)) {
      record.append(comma).append(quoted(value));
      comma = ", ";
    }
    record += "]]";
  }
  record += "]";
  return {.settled = good, .held_up = false};
}

// Appends what a problem says; one that cannot be read ends the program, as it should.
Told hear_problem(std::string& record, const Message& reply) {
  const boost::json::value document = boost::json::parse(reply.body);
  const std::string_view type = document.at("type").as_string();
  const std::string_view problem = type.substr(type.rfind(':') + 1);
  const std::string_view retry = document.at("retry").as_string();
  record += fmt::format(R"("kind": "problem", "problem": {}, "retry": {})", quoted(problem), quoted(retry));
  return {.settled = problem == "key-reused" || (problem == "outcome-unknown" && retry != "same-key"),
          .held_up = problem == "store-unavailable"};
}

}  // namespace

std::string_view Operation::route() const {
  const std::string_view rest = std::string_view(target).substr(1);
  return rest.substr(0, rest.find('/'));
}

std::string Operation::json() const {
  return fmt::format(R"({{"scope": {}, "key": {}, "body": {}, "target": {}}})", quoted(scope), quoted(key),
                     quoted(body), quoted(target));
}

Caller::Caller(Endpoint to, Book& book, std::atomic<std::uint64_t>& numbers)
    : to_(std::move(to)), node_(to_.text()), book_(book), numbers_(numbers) {}

Got<Message> Caller::ask(const Operation& operation, std::string_view request, std::string_view more) {
  if (!line_) {
    const auto socket = Line::connect(to_, patience_s);
    if (!socket) return std::unexpected(socket.error());
    line_.emplace(*socket);
  }
  const std::string bytes = fmt::format(
      "POST {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {}\r\nIdempotency-Key: {}\r\nX-Request: {}\r\n{}"
      "Content-Length: {}\r\n\r\n{}",
      operation.target, operation.scope, operation.key, request, more, operation.body.size(), operation.body);
  if (const auto sent = line_->send(bytes); !sent) return std::unexpected(sent.error());
  auto reply = line_->read_head();
  if (!reply) return reply;
  if (const auto read = line_->read_body(*reply); !read) return std::unexpected(read.error());
  return reply;
}

Told Caller::call(const Operation& operation, std::string_view more) {
  const std::string request = fmt::format("n{}", numbers_.fetch_add(1) + 1);
  std::string record = fmt::format(
      R"({{"request": "{}", "scope": {}, "key": {}, "body": "{}", "node": "{}", "route": "{}", "invoked": {:.9f}, )",
      request, quoted(operation.scope), quoted(operation.key), digest_of(operation.body), node_, operation.route(),
      now_s());
  const auto reply = ask(operation, request, more);
  Told told;
  if (reply) {
    const bool replayed = reply->get("Idempotent-Replayed") == "true";
    record += fmt::format(R"("status": {}, "replayed": {}, )", reply->status(), replayed);
    const bool problem = reply->get("Content-Type") == "application/problem+json";
    told = problem ? hear_problem(record, *reply) : hear_answer(record, *reply);
    if (core::equal_ignoring_case(reply->get("Connection"), "close")) hang_up();
  } else {
    record += fmt::format(R"("kind": "lost", "why": "{}")", reply.error());
    told.held_up = true;
    hang_up();
  }
  book_.add(record + fmt::format(R"(, "ended": {:.9f}}})", now_s()));
  return told;
}

void Caller::settle(const Operation& operation, double seconds) {
  const double deadline = now_s() + seconds;
  while (!call(operation).settled && now_s() <= deadline) std::this_thread::sleep_for(pause);
}

}  // namespace semel::proof
