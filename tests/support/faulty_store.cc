// Each call asks the script once and then goes one way of the table in the header.

#include "support/faulty_store.h"

#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include "runtime/pause.h"

namespace semel::test {
namespace {

template <class T>
using Forward = std::function<Async<T>()>;

template <class T>
Task<void> arrive_late(Clock* clock, Millis delay, Forward<T> forward) {
  co_await runtime::sleep(*clock, delay);
  const Result<T> unheard = co_await forward();
  (void)unheard;
}

template <class T>
Async<T> pass(Clock* clock, Fault fault, Forward<T> forward) {
  switch (fault.kind) {
    case FaultKind::none:
      co_return co_await forward();
    case FaultKind::slow: {
      Result<T> answer = co_await forward();
      co_await runtime::sleep(*clock, fault.delay);
      co_return answer;
    }
    case FaultKind::refused:
      co_return fail(Code::unavailable, "refused, as the test asked for");
    case FaultKind::full:
      co_return fail(Code::full, "full, as the test asked for");
    case FaultKind::request_lost:
      co_await runtime::sleep(*clock, fault.delay);
      co_return fail(Code::unavailable, "the request was lost, as the test asked for");
    case FaultKind::answer_lost: {
      const Result<T> unheard = co_await forward();
      (void)unheard;
      co_await runtime::sleep(*clock, fault.delay);
      co_return fail(Code::unavailable, "the answer was lost, as the test asked for");
    }
    case FaultKind::late: {
      const Executor executor = co_await boost::asio::this_coro::executor;
      boost::asio::co_spawn(executor, arrive_late(clock, fault.delay, std::move(forward)), boost::asio::detached);
      co_return fail(Code::unavailable, "the request is late, as the test asked for");
    }
  }
  co_return fail(Code::invalid, "no such fault");
}

}  // namespace

FaultScript faults_at(std::initializer_list<FaultAt> list) {
  return [list = std::vector<FaultAt>(list), counts = std::array<std::uint64_t, 6>{}](StoreCall call) mutable {
    const std::uint64_t nth = ++counts.at(static_cast<std::size_t>(call));
    for (const FaultAt& entry : list) {
      if (entry.call == call && entry.nth == nth) return entry.fault;
    }
    return Fault{};
  };
}

FaultScript faults_by_seed(std::uint64_t seed, FaultWeights weights) {
  return [random = std::mt19937_64(seed), weights](StoreCall) mutable {
    std::uint64_t total = 0;
    for (const std::uint32_t weight : weights.of) total += weight;
    if (total == 0) return Fault{};
    std::uint64_t drawn = random() % total;
    std::size_t kind = 0;
    while (drawn >= weights.of.at(kind)) drawn -= weights.of.at(kind++);
    const auto span = static_cast<std::uint64_t>(weights.delay_max.count()) + 1;
    return Fault{.kind = static_cast<FaultKind>(kind), .delay = Millis{static_cast<Millis::rep>(random() % span)}};
  };
}

FaultyStore::FaultyStore(Store& inner, Clock& clock, FaultScript script, store::Lookup* lookup)
    : inner_(inner), lookup_(lookup), clock_(clock), script_(std::move(script)) {}

Fault FaultyStore::next(StoreCall call) {
  const Fault fault = script_ ? script_(call) : Fault{};
  ++counts_.at(static_cast<std::size_t>(fault.kind));
  return fault;
}

Async<Claim> FaultyStore::claim(Key key, Fingerprint fingerprint, Terms terms) {
  Store* inner = &inner_;
  return pass<Claim>(&clock_, next(StoreCall::claim), [=] { return inner->claim(key, fingerprint, terms); });
}

Async<void> FaultyStore::renew(Key key, Fence fence, Millis lease) {
  Store* inner = &inner_;
  return pass<void>(&clock_, next(StoreCall::renew), [=] { return inner->renew(key, fence, lease); });
}

Async<void> FaultyStore::complete(Key key, Fence fence, SharedResponse response) {
  Store* inner = &inner_;
  return pass<void>(&clock_, next(StoreCall::complete), [=] { return inner->complete(key, fence, response); });
}

Async<void> FaultyStore::release(Key key, Fence fence) {
  Store* inner = &inner_;
  return pass<void>(&clock_, next(StoreCall::release), [=] { return inner->release(key, fence); });
}

Async<std::size_t> FaultyStore::sweep(std::size_t limit) {
  Store* inner = &inner_;
  return pass<std::size_t>(&clock_, next(StoreCall::sweep), [=] { return inner->sweep(limit); });
}

Async<std::optional<Held>> FaultyStore::look_up(Key key) {
  store::Lookup* lookup = lookup_;
  return pass<std::optional<Held>>(&clock_, next(StoreCall::look), [=] { return lookup->look_up(key); });
}

}  // namespace semel::test
