// Reading and writing of messages on a blocking socket.
#include "load/line.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <asm-generic/socket.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

#include "core/ascii.h"
#include "core/check.h"

namespace semel::proof {
namespace {

constexpr Why closed = "Closed";  // where a message could have begun
constexpr Why cut = "Cut";        // in the middle of a message
constexpr Why silent = "Silent";  // nothing came in time
constexpr Why timeout = "TimeoutError";
constexpr std::size_t read_bytes = 65'536;

Why why_of(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "ConnectionRefusedError";
    case ECONNRESET:
      return "ConnectionResetError";
    case EPIPE:
      return "BrokenPipeError";
    case EAGAIN:
    case EINPROGRESS:
    case ETIMEDOUT:
      return timeout;
    default:
      return "OSError";
  }
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::size_t number_of(std::string_view text, int base) {
  std::size_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number, base);
  core::check(read.ptr != text.data(), "a length is a number");
  return number;
}

Message head_of(std::string_view text) {
  Message message;
  bool first = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find("\r\n"), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 2, text.size()));
    const std::size_t colon = std::min(line.find(':'), line.size());
    if (first)
      message.start = line;
    else
      message.fields.emplace_back(line.substr(0, colon), trim(line.substr(std::min(colon + 1, line.size()))));
    first = false;
  }
  return message;
}

}  // namespace

Endpoint endpoint_of(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  core::check(colon != std::string_view::npos, "an address is HOST:PORT");
  return {.host = std::string(text.substr(0, colon)),
          .port = static_cast<std::uint16_t>(number_of(text.substr(colon + 1), 10))};
}

int Message::status() const {
  return static_cast<int>(number_of(word(1), 10));
}

std::string_view Message::word(std::size_t number) const {
  std::string_view rest = start;
  for (; number > 0; --number) rest.remove_prefix(std::min(rest.find(' '), rest.size() - 1) + 1);
  return rest.substr(0, rest.find(' '));
}

std::string_view Message::get(std::string_view name, std::string_view otherwise) const {
  for (const auto& [field, value] : fields)
    if (core::equal_ignoring_case(field, name)) return value;
  return otherwise;
}

std::vector<std::string> Message::all(std::string_view name) const {
  std::vector<std::string> values;
  for (const auto& [field, value] : fields)
    if (core::equal_ignoring_case(field, name)) values.push_back(value);
  return values;
}

void be_patient(int socket, int seconds) {
  const timeval patience{.tv_sec = seconds, .tv_usec = 0};
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

Got<int> Line::connect(const Endpoint& to, int seconds) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return std::unexpected(why_of(errno));
  be_patient(socket, seconds);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(to.port);
  core::check(::inet_pton(AF_INET, to.host.c_str(), &address.sin_addr) == 1, "a host is an IPv4 address");
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return socket;
  const Why why = why_of(errno);
  ::close(socket);
  return std::unexpected(why);
}

Got<void> Line::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return std::unexpected(why_of(errno));
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return {};
}

// At the end of the stream: cut, unless nothing has come since the last message.
Got<void> Line::more() {
  std::array<char, read_bytes> bytes;  // recv fills it
  const ssize_t got = ::recv(socket_, bytes.data(), bytes.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return std::unexpected(silent);
  if (got <= 0) return std::unexpected(cut);
  buffer_.append(bytes.data(), static_cast<std::size_t>(got));
  return {};
}

Got<std::string> Line::exactly(std::size_t size) {
  while (buffer_.size() < size)
    if (const auto came = more(); !came) return std::unexpected(came.error());
  std::string taken = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return taken;
}

Got<std::string> Line::text_line() {
  std::size_t end = buffer_.find("\r\n");
  for (; end == std::string::npos; end = buffer_.find("\r\n"))
    if (const auto came = more(); !came) return std::unexpected(came.error());
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 2);
  return line;
}

Got<Message> Line::read_head() {
  std::size_t end = buffer_.find("\r\n\r\n");
  for (; end == std::string::npos; end = buffer_.find("\r\n\r\n")) {
    const auto came = more();
    if (!came) return std::unexpected(came.error() == cut && buffer_.empty() ? closed : came.error());
  }
  Message message = head_of(std::string_view(buffer_).substr(0, end));
  buffer_.erase(0, end + 4);
  return message;
}

Got<void> Line::read_chunks(Message& message) {
  while (true) {
    const auto head = text_line();
    if (!head) return std::unexpected(head.error());
    const std::size_t size = number_of(*head, 16);
    if (size == 0) break;
    auto chunk = exactly(size + 2);
    if (!chunk) return std::unexpected(chunk.error());
    message.body.append(*chunk, 0, size);
  }
  for (auto trailer = text_line();; trailer = text_line()) {
    if (!trailer) return std::unexpected(trailer.error());
    if (trailer->empty()) return {};
  }
}

Got<void> Line::read_body(Message& message) {
  if (core::equal_ignoring_case(message.get("Transfer-Encoding"), "chunked")) return read_chunks(message);
  const std::string_view length = message.get("Content-Length");
  if (length.empty()) return {};
  auto body = exactly(number_of(length, 10));
  if (!body) return std::unexpected(body.error());
  message.body = std::move(*body);
  return {};
}

void Line::close() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
}

}  // namespace semel::proof
