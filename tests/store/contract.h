// The contract of semel/store.h, as tests that every store must pass.
//
//   StoreContract    any store. A test that needs time to pass calls outlast(): turned time jumps, real time is waited
//                    for. Nothing is said about single milliseconds.
//   ExactContract    stores whose time can be turned: the very millisecond at which an answer changes.
//   ReopenContract   stores that keep their records.
//
// The suite knows nothing of a store but the five calls and what opening it says that it can do. It never looks at what
// is stored: it claims the key as somebody else would and reads what holds it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "store/audit_log.h"
#include "store/backends.h"
#include "store/crew.h"
#include "store/desk.h"
#include "store/history.h"
#include "store/key_roll.h"
#include "store/lookup.h"
#include "store/notes.h"
#include "support/virtual_clock.h"
#include <semel/clock.h>
#include <semel/reopening.h>
#include <semel/store.h>

namespace semel::test {

inline constexpr Millis ample{3'600'000};  // a span that ends in no test by itself

SharedResponse answer_of(std::string body, std::uint16_t status = 201);
Fingerprint fingerprint_of(std::uint64_t number);

class StoreContract : public testing::TestWithParam<Backend> {
 protected:
  StoreContract();

  // A span short enough to be outlasted.
  [[nodiscard]] Millis brief() const { return exact() ? Millis{1'000} : Millis{300}; }
  // Whatever was to last `span` from now, and no more, is over when this returns.
  void outlast(Millis span);
  // What a sweep counts when so many records have expired.
  [[nodiscard]] std::size_t counted(std::size_t expired) const {
    return GetParam().reclaiming == Reclaiming::swept ? expired : 0;
  }
  [[nodiscard]] bool exact() const { return GetParam().timing == Timing::turned; }

  Key fresh_key();
  std::uint64_t fresh_owner() { return ++owners_; }
  // Terms of a fresh owner that end in no test.
  Terms terms(Terms::Lapsed lapsed = Terms::Lapsed::stands);

  Result<Claim> claim(const Key& key, const Terms& terms, Fingerprint fingerprint = fingerprint_of(1));
  Result<void> renew(const Key& key, Fence fence, Millis lease = ample);
  Result<void> complete(const Key& key, Fence fence, SharedResponse response);
  Result<void> release(const Key& key, Fence fence);

  // Claims and expects to be Granted; to find the key held, which is how a test looks at it without changing anything.
  Granted take(const Key& key, const Terms& terms);
  Granted take(const Key& key) { return take(key, terms()); }
  Held look(const Key& key);
  std::string kept_body(const Key& key);  // of the response that holds the key
  // Sweeps and expects that it works; then sweeps until nothing is left, and gives the count of each time.
  std::size_t sweep(std::size_t limit);
  std::vector<std::size_t> sweep_all(std::size_t limit);

  // Destroys the store and opens it again.
  void reopen();

  // In this order: the store must go before the io_contexts that it answers on, and before its place.
  boost::asio::io_context context_{1};
  Crew crew_;
  VirtualClock virtual_clock_;
  std::unique_ptr<Clock> real_clock_;
  std::unique_ptr<Place> place_;
  std::unique_ptr<Store> store_;
  Reopening* reopening_ = nullptr;  // the store's
  store::Lookup* lookup_ = nullptr;
  store::Desk* desk_ = nullptr;  // the same
  store::AuditLog* audit_ = nullptr;
  store::History* kept_ = nullptr;  // its telemetry
  store::Notes* notes_ = nullptr;
  store::KeyRoll* roll_ = nullptr;

 private:
  void open();
  Clock& clock();

  std::uint64_t keys_ = 0;
  std::atomic<std::uint64_t> owners_ = 1'000;  // crews ask, too
};

class ExactContract : public StoreContract {};
class ReopenContract : public StoreContract {};

// What a call answered, for EXPECT_EQ and for the message when it fails: "ok", "fenced", "unavailable", …
template <class T>
std::string_view said(const Result<T>& result);
std::string_view code_name(Code code);

template <class T>
std::string_view said(const Result<T>& result) {
  return result ? "ok" : code_name(result.error().code);
}

}  // namespace semel::test
