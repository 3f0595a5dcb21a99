// Connections to one upstream, kept by one thread.
//
// Several addresses share the load: the one with the fewest requests under way is next. An address that refused a
// connection is not used for a while. Names are resolved again every half minute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/ip/tcp.hpp>

#include "http/connection.h"
#include "http/failure.h"
#include "http/tls.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {

struct Address {
  std::string host;
  std::uint16_t port = 80;
  bool secure = false;
};

struct UpstreamOptions {
  std::vector<Address> addresses;
  Millis connect_time{5'000};
  Millis idle_time{55'000};
  std::size_t idle_max = 256;
  std::shared_ptr<const TlsContext> tls = nullptr;  // for addresses that are secure
};

class Upstream {
 public:
  Upstream(UpstreamOptions options, Clock& clock, Executor executor, Ticker& ticker);
  ~Upstream();
  Upstream(const Upstream&) = delete;
  Upstream& operator=(const Upstream&) = delete;

  enum class Use : std::uint8_t { pooled, fresh };

  // A connection for one request. It counts as under way until it is destroyed or kept.
  class Link {
   public:
    Link(Upstream& upstream, std::size_t address, std::unique_ptr<Connection> connection, Use use);
    ~Link();
    Link(const Link&) = delete;
    Link& operator=(const Link&) = delete;

    [[nodiscard]] Connection& connection() { return *connection_; }
    [[nodiscard]] bool reused() const { return use_ == Use::pooled; }
    // The answer was read to its end, and the connection may carry another request.
    void keep();

   private:
    Upstream& upstream_;
    std::size_t address_;
    std::unique_ptr<Connection> connection_;
    Use use_;
  };

  // Returns an idle connection to the address that is next; null if there is none. No coroutine, unlike link().
  std::unique_ptr<Link> pooled();
  // Failure::unreachable or timed_out: no address accepted a connection.
  Attempted<std::unique_ptr<Link>> link(Use use);
  // Why the last TLS handshake failed, as a text; empty if it did not fail.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  struct Site;
  std::unique_ptr<Link> pooled(std::size_t at);
  [[nodiscard]] std::size_t choose(const std::vector<bool>& tried) const;
  Attempted<boost::asio::ip::tcp::endpoint> resolve(std::size_t at);
  Attempted<std::unique_ptr<Link>> connect(std::size_t at);

  UpstreamOptions options_;
  Clock& clock_;
  Executor executor_;
  Ticker& ticker_;
  std::vector<Site> sites_;
  std::string trouble_;
};

}  // namespace semel::http
