// A client's connection to the real session code, without a network: one end of a pair of sockets is the session's, the
// other one ours. Everything runs in the caller's thread, and no time passes.
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "core/check.h"
#include "fuzz/reading.h"
#include "http/connection.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/session.h"
#include "http/ticker.h"

namespace semel::fuzz {

class Conversation {
 public:
  Conversation(boost::asio::io_context& context, http::Ticker& ticker, http::RequestHandler& handler,
               http::SessionLimits limits)
      : context_(context) {
    std::array<int, 2> ends{};
    core::check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) == 0, "there are sockets");
    ours_ = ends[0];
    http::Socket socket(context.get_executor());
    socket.assign(boost::asio::ip::tcp::v4(), ends[1]);
    session_ = std::make_unique<http::Session>(std::make_unique<http::Connection>(std::move(socket), ticker), handler,
                                               limits, draining_);
    boost::asio::co_spawn(context, session_->run(), [this](const std::exception_ptr& thrown) {
      core::check(thrown == nullptr, "a session does not throw");
      ended_ = true;
    });
  }
  ~Conversation() { ::close(ours_); }
  Conversation(const Conversation&) = delete;
  Conversation& operator=(const Conversation&) = delete;

  // Sends it in pieces of `step` bytes, each of which is read before the next one comes, and closes. What came back.
  std::string run(std::string_view input, std::size_t step) {
    while (!input.empty() && !ended_) {
      const std::string_view piece = input.substr(0, step);
      const auto sent = ::send(ours_, piece.data(), piece.size(), MSG_NOSIGNAL);
      turn();
      if (sent > 0) input.remove_prefix(static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN) break;
    }
    ::shutdown(ours_, SHUT_WR);
    for (int turns = 0; !ended_ && turns < 1'000; ++turns) turn();
    core::check(ended_, "a session ends when its client has closed");
    session_.reset();
    turn();
    return said_;
  }

 private:
  void turn() {
    context_.restart();
    context_.poll();
    std::array<char, 65'536> room;
    for (auto got = ::recv(ours_, room.data(), room.size(), 0); got > 0;
         got = ::recv(ours_, room.data(), room.size(), 0)) {
      said_.append(room.data(), static_cast<std::size_t>(got));
    }
  }

  boost::asio::io_context& context_;
  const std::atomic<bool> draining_{false};
  std::unique_ptr<http::Session> session_;
  int ours_ = -1;
  bool ended_ = false;
  std::string said_;
};

struct Answer {
  std::uint16_t status = 0;
  std::string head;
  std::string body;
  std::string type;
  bool closes = false;

  friend bool operator==(const Answer&, const Answer&) = default;
};

// Each of them whole, none behind one that says `close`. Answers to HEAD, which have no body, cannot be read so.
inline std::vector<Answer> answers_in(std::string_view said) {
  std::vector<Answer> answers;
  while (!said.empty()) {
    core::check(answers.empty() || !answers.back().closes, "nothing follows the last answer");
    http::Head head;
    Reading reading = read<http::ResponseParser>(head, said, said.size());
    core::check(reading.done, "each answer is whole");
    answers.push_back({.status = head.status(),
                       .head = std::move(reading.head),
                       .body = std::move(reading.body),
                       .type = std::string(head.find("Content-Type").value_or("")),
                       .closes = head.find("Connection").value_or("") == "close"});
    said.remove_prefix(reading.size);
  }
  return answers;
}

// Without the session's own refusal at the end: half a request may be refused, or closed upon because no more comes, as
// its mistake is noticed early or late. What is taken must not depend on it.
inline std::vector<Answer> taken_in(std::string_view said) {
  std::vector<Answer> answers = answers_in(said);
  if (!answers.empty() && answers.back().closes && answers.back().type == "application/problem+json")
    answers.pop_back();
  return answers;
}

}  // namespace semel::fuzz
