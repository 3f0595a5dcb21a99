// Chooses the next address, and keeps idle connections.
#include "http/upstream.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/basic_resolver.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "http/connection.h"
#include "http/failure.h"
#include "http/ticker.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::http {
namespace {

namespace asio = boost::asio;
using tcp = asio::ip::tcp;

constexpr Millis resolve_again{30'000};
constexpr Millis rest_first{500};  // doubled with each failure in a row
constexpr Millis rest_max{15'000};
constexpr int doublings_max = 5;

}  // namespace

struct Upstream::Site {
  Address address;
  std::vector<tcp::endpoint> endpoints;
  Time resolved_at;
  std::size_t next_endpoint = 0;
  std::size_t busy = 0;
  int failures = 0;
  Time rests_until;
  std::vector<std::unique_ptr<Connection>> idle;
};

Upstream::Link::Link(Upstream& upstream, std::size_t address, std::unique_ptr<Connection> connection, Use use)
    : upstream_(upstream), address_(address), connection_(std::move(connection)), use_(use) {
  ++upstream_.sites_[address_].busy;
}

Upstream::Link::~Link() {
  --upstream_.sites_[address_].busy;
}

void Upstream::Link::keep() {
  Site& site = upstream_.sites_[address_];
  const bool wanted = upstream_.options_.idle_time > Millis{0} && site.idle.size() < upstream_.options_.idle_max;
  if (!wanted || !connection_->unread().empty()) return;
  connection_->deadline().idle(upstream_.options_.idle_time);
  site.idle.push_back(std::move(connection_));
}

Upstream::Upstream(UpstreamOptions options, Clock& clock, Executor executor, Ticker& ticker)
    : options_(std::move(options)), clock_(clock), executor_(std::move(executor)), ticker_(ticker) {
  for (const Address& address : options_.addresses) {
    Site site{.address = address, .endpoints = {}, .resolved_at = {}, .rests_until = {}, .idle = {}};
    boost::system::error_code not_a_number;
    const auto number = asio::ip::make_address(address.host, not_a_number);
    if (!not_a_number) {
      site.endpoints.emplace_back(number, address.port);
      site.resolved_at = Time::max() - resolve_again;
    }
    sites_.push_back(std::move(site));
  }
}

Upstream::~Upstream() = default;

// An address that does not rest comes first, then the least busy, then the one whose rest ends first. Addresses that
// were tried are left out.
std::size_t Upstream::choose(const std::vector<bool>& tried) const {
  const Time now = clock_.now();
  std::size_t best = sites_.size();
  const auto rank = [&](const Site& site) {
    const Time rests = site.rests_until > now ? site.rests_until : Time{};
    return std::pair(rests, site.busy);
  };
  for (std::size_t at = 0; at < sites_.size(); ++at) {
    const bool out = at < tried.size() && tried[at];
    if (!out && (best == sites_.size() || rank(sites_[at]) < rank(sites_[best]))) best = at;
  }
  return best;
}

std::unique_ptr<Upstream::Link> Upstream::pooled(std::size_t at) {
  Site& site = sites_[at];
  while (!site.idle.empty()) {
    std::unique_ptr<Connection> connection = std::move(site.idle.back());
    site.idle.pop_back();
    connection->deadline().busy();
    connection->deadline().expect_nothing();
    if (connection->silent()) return std::make_unique<Link>(*this, at, std::move(connection), Use::pooled);
  }
  return nullptr;
}

std::unique_ptr<Upstream::Link> Upstream::pooled() {
  return pooled(choose({}));
}

Attempted<std::unique_ptr<Upstream::Link>> Upstream::link(Use use) {
  std::vector<bool> tried(sites_.size(), false);
  Failure last = Failure::unreachable;
  for (std::size_t at = choose(tried); at < sites_.size(); at = choose(tried)) {
    if (std::unique_ptr<Link> idle = use == Use::pooled ? pooled(at) : nullptr) co_return idle;
    Try<std::unique_ptr<Link>> fresh = co_await connect(at);
    if (fresh) co_return fresh;
    last = fresh.error();
    tried[at] = true;
  }
  co_return failed(last);
}

// A name may have several addresses. If one refuses, the others are tried before the site rests. One that does not
// answer at all has used up the time for all of them.
Attempted<std::unique_ptr<Upstream::Link>> Upstream::connect(std::size_t at) {
  Failure why = Failure::unreachable;
  for (std::size_t tries = 0; why == Failure::unreachable; ++tries) {
    Try<tcp::endpoint> endpoint = co_await resolve(at);
    if (!endpoint || tries == sites_[at].endpoints.size()) break;
    auto connection = std::make_unique<Connection>(Socket(executor_), ticker_);
    connection->deadline().expect_within(options_.connect_time);
    Try<void> connected = co_await connection->connect(*endpoint);
    if (connected && sites_[at].address.secure) {
      connected = co_await connection->connect_tls(options_.tls, sites_[at].address.host);
      trouble_.clear();
      if (!connected && connected.error() == Failure::timed_out) {
        trouble_ = "the TLS handshake takes too long";
      } else if (!connected) {
        trouble_ = connection->tls_complaint();
        connected = failed(Failure::unreachable);
      }
    }
    if (connected) {
      sites_[at].failures = 0;
      sites_[at].rests_until = Time{};
      connection->deadline().expect_nothing();
      co_return std::make_unique<Link>(*this, at, std::move(connection), Use::fresh);
    }
    why = connected.error();
    ++sites_[at].next_endpoint;
  }
  Site& site = sites_[at];
  const int doublings = std::min(site.failures++, doublings_max);
  site.rests_until = clock_.now() + std::min(rest_max, rest_first * (1 << doublings));
  co_return failed(why);
}

Attempted<tcp::endpoint> Upstream::resolve(std::size_t at) {
  Site& site = sites_[at];
  if (site.endpoints.empty() || clock_.now() >= site.resolved_at + resolve_again) {
    asio::ip::basic_resolver<tcp, Executor> resolver(executor_);
    const std::string port = std::to_string(site.address.port);
    const auto [error, found] =
        co_await resolver.async_resolve(site.address.host, port, asio::as_tuple(asio::use_awaitable_t<Executor>()));
    site.resolved_at = clock_.now();
    if (!error) site.endpoints.assign(found.begin(), found.end());  // otherwise the old ones stay
  }
  if (site.endpoints.empty()) co_return failed(Failure::unreachable);
  co_return site.endpoints[site.next_endpoint % site.endpoints.size()];
}

}  // namespace semel::http
