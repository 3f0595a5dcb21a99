// A TCP connection with a read buffer and a deadline, with TLS or without. Nothing else in the program sees the socket.
//
// One coroutine may read while another one writes. A peer that misses the deadline ends both with Failure::timed_out.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/system/error_code.hpp>

#include "core/function_ref.h"
#include "http/failure.h"
#include "http/ticker.h"
#include "http/tls.h"
#include <semel/async.h>

namespace semel::http {

using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;

// Up to this size, copying a body behind its head costs less than sending the two as separate buffers.
inline constexpr std::size_t joined_bytes_max = 4'096;

class Connection {
 public:
  Connection(Socket socket, Ticker& ticker);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Attempted<void> connect(boost::asio::ip::tcp::endpoint endpoint);

  // Everything that follows is encrypted. Failure::broken: the peer speaks no TLS that we accept, or its certificate is
  // not the one we need. The certificate of a server must be for `host`.
  Attempted<void> accept_tls(std::shared_ptr<const TlsContext> context);
  Attempted<void> connect_tls(std::shared_ptr<const TlsContext> context, const std::string& host);
  // Why that failed. To be called right after it has.
  [[nodiscard]] std::string tls_complaint() const { return tls_->complaint(); }
  [[nodiscard]] bool encrypted() const { return tls_ != nullptr; }
  // The subject of the client's certificate, which has been verified; empty if there is none.
  [[nodiscard]] std::string_view client_subject() const { return tls_ ? tls_->subject() : std::string_view(); }

  // Waits for more bytes and appends them to unread(). Failure::closed at the end of the stream, and nowhere else.
  Attempted<void> fill();
  [[nodiscard]] std::string_view unread() const { return std::string_view(buffer_).substr(from_, to_ - from_); }
  void consume(std::size_t size);
  // If nothing is unread, shrinks the buffer to what an idle connection needs.
  void give_room_back();

  // Writes all parts, in order. written() counts the bytes that went out, also when the call fails.
  Attempted<void> write(std::string_view first, std::string_view second = {}, std::string_view third = {});
  // The same, but listens while the peer takes no more: if `enough` says so of what it has sent, the rest is not
  // written, and this returns false. Over TLS it does not listen.
  using Enough = core::FunctionRef<bool(std::string_view unread)>;
  Attempted<bool> write_listening(std::string_view first, std::string_view second, Enough enough);
  // Appends to unread() what has arrived, without waiting: for a connection on which writing has failed, because the
  // peer may have said why before it closed. Over TLS nothing is taken.
  enum class Arrival : std::uint8_t { bytes, nothing, end };
  Arrival take_arrived();
  [[nodiscard]] std::size_t written() const { return written_; }
  void reset_written() { written_ = 0; }

  // Whether the peer of an idle connection is silent: false if it has closed or sent something.
  [[nodiscard]] bool silent();

  // The connection's own deadline; transactions on it have theirs. when_late() says what it does when it is missed.
  [[nodiscard]] Ticker::Watch& deadline() { return watch_; }
  void when_late(Lateness then) { when_late_ = then; }
  // The peer has missed a deadline, this one or another: what is under way, and all that fails later, has timed out.
  void miss(Lateness then);
  [[nodiscard]] std::string peer_address() const;
  [[nodiscard]] Executor executor() { return socket_.get_executor(); }
  // Ends what is under way on this connection with Failure::broken. The connection stays open.
  void interrupt();
  void shut_down_writing();
  void close();

 private:
  // Makes room in the buffer behind the bytes that are unread.
  void make_room();
  // Returns how many bytes the system took at once; 0 if it takes none now.
  Try<std::size_t> write_now(std::span<const std::string_view> parts);
  // Waits until the peer takes more or has sent something.
  Attempted<void> writable_or_readable();
  [[nodiscard]] Failure reason(const boost::system::error_code& error) const;
  // The same with TLS: connection_tls.cc.
  Attempted<void> shake_hands();
  Attempted<void> fill_tls();
  Attempted<void> write_tls(std::array<std::string_view, 3> parts);
  Attempted<void> ready_for(Tls::Want want);

  Socket socket_;
  std::unique_ptr<Tls> tls_;
  Ticker::Watch watch_;
  Lateness when_late_ = Lateness::close;
  bool late_ = false;
  std::string buffer_;
  std::size_t from_ = 0;
  std::size_t to_ = 0;
  std::size_t written_ = 0;
};

}  // namespace semel::http
