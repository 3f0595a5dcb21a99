#include "outbox/doorbell.h"

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include <libpq-fe.h>

#include "store/postgres/connection.h"
#include <semel/clock.h>

namespace semel::outbox {
namespace {

constexpr Millis answer_max{2'000};  // stop() waits for it
constexpr Millis again_after{1'000};
constexpr Millis one_wait{250};

}  // namespace

Doorbell::Doorbell(Clock& clock, std::string url, std::function<void()> ring)
    : clock_(clock), url_(std::move(url)), ring_(std::move(ring)) {}

Doorbell::~Doorbell() {
  stop();
}

void Doorbell::start() {
  thread_ = std::thread([this] { run(); });
}

void Doorbell::stop() {
  {
    const std::scoped_lock lock(sleep_.mutex);
    stopping_ = true;
  }
  sleep_.woken.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool Doorbell::open() {
  auto made = store::postgres::connect(clock_, url_, answer_max);
  if (!made || !store::postgres::ask(clock_, made->get(), "LISTEN semel_outbox", {}, answer_max)) return false;
  link_ = *std::move(made);
  return true;
}

void Doorbell::run() {
  while (!stopping_) {
    if (link_ == nullptr) {
      if (open()) {
        ring_();
        continue;
      }
      std::unique_lock lock(sleep_.mutex);
      sleep_.woken.wait_for(lock, again_after, [this] { return stopping_.load(); });
      continue;
    }
    const bool rung = store::postgres::hears(clock_, link_.get(), one_wait);
    while (rung && store::postgres::hears(clock_, link_.get(), Millis{0})) continue;  // all of them are one ring
    if (rung) ring_();
    if (PQstatus(link_.get()) != CONNECTION_OK) link_.reset();
  }
  link_.reset();
}

}  // namespace semel::outbox
