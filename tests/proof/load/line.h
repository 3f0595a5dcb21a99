// A connection of the proof's own programs: HTTP/1.1 on a blocking socket, byte for byte.
//
// It shares nothing with src/http on purpose: a mistake there must not be made here, too. A thread has a connection for
// itself and waits on it. Failures go by the names that the checker's other clients use (tests/e2e/wire.py).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace semel::proof {

struct Endpoint {
  std::string host;  // an IPv4 address
  std::uint16_t port = 0;

  [[nodiscard]] std::string text() const { return host + ":" + std::to_string(port); }
};

// Of HOST:PORT.
Endpoint endpoint_of(std::string_view text);

// Why nothing came of it.
using Why = std::string_view;
template <class T>
using Got = std::expected<T, Why>;

// A request or a reply. `start` is the first line; fields keep their order.
struct Message {
  std::string start;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;

  [[nodiscard]] int status() const;
  [[nodiscard]] std::string_view word(std::size_t number) const;  // of the first line
  [[nodiscard]] std::string_view get(std::string_view name, std::string_view otherwise = {}) const;
  [[nodiscard]] std::vector<std::string> all(std::string_view name) const;
};

class Line {
 public:
  // Takes a socket that is connected.
  explicit Line(int socket) : socket_(socket) {}
  ~Line() { close(); }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  static Got<int> connect(const Endpoint& to, int seconds);

  [[nodiscard]] Got<void> send(std::string_view bytes);
  // A message without a length has no body: neither side of the proof sends one that ends with the connection.
  [[nodiscard]] Got<Message> read_head();
  [[nodiscard]] Got<void> read_body(Message& message);
  void close();

 private:
  [[nodiscard]] Got<void> more();
  [[nodiscard]] Got<std::string> exactly(std::size_t size);
  [[nodiscard]] Got<std::string> text_line();
  [[nodiscard]] Got<void> read_chunks(Message& message);

  int socket_;
  std::string buffer_;
};

// Gives up on a read or a write after so many seconds.
void be_patient(int socket, int seconds);

}  // namespace semel::proof
