// A handler of an inbox on the loopback, on the io_context of its test.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <semel/async.h>

namespace semel::test {

// What it says to a request is said by `speak(method)`: the status and the text of the start line. None: nothing, and
// the connection stays open until hang_up().
class LoopbackHandler {
 public:
  using Speak = std::function<std::optional<std::string>(std::string_view method)>;

  explicit LoopbackHandler(Executor executor)
      : acceptor_(executor, boost::asio::ip::tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {
    boost::asio::co_spawn(executor, serve(), boost::asio::detached);
  }

  [[nodiscard]] std::string url() const {
    return "http://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  [[nodiscard]] std::ptrdiff_t count(std::string_view method) const { return std::ranges::count(methods_, method); }
  // Ends all connections.
  void hang_up() { open_.clear(); }
  void close() {
    acceptor_.close();
    hang_up();
  }

  Speak speak = [](std::string_view) { return "200 OK"; };

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Executor>;
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
  static constexpr auto quietly = boost::asio::as_tuple(boost::asio::use_awaitable_t<Executor>());

  Task<void> serve() {
    for (;;) {
      auto [error, socket] = co_await acceptor_.async_accept(quietly);
      if (error) co_return;
      boost::asio::co_spawn(acceptor_.get_executor(), answer(std::make_shared<Socket>(std::move(socket))),
                            boost::asio::detached);
    }
  }

  // One request on each connection. Its body is not looked at.
  Task<void> answer(std::shared_ptr<Socket> socket) {
    std::string text;
    const auto [error, head] =
        co_await boost::asio::async_read_until(*socket, boost::asio::dynamic_buffer(text), "\r\n\r\n", quietly);
    if (error) co_return;
    methods_.push_back(text.substr(0, text.find(' ')));
    const std::optional<std::string> status = speak(methods_.back());
    if (!status) {
      open_.push_back(std::move(socket));
      co_return;
    }
    const std::string reply = "HTTP/1.1 " + *status + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    co_await boost::asio::async_write(*socket, boost::asio::buffer(reply), quietly);
  }

  Acceptor acceptor_;
  std::vector<std::string> methods_;
  std::vector<std::shared_ptr<Socket>> open_;
};

}  // namespace semel::test
