// The listener: tells other processes which keys have ended here, and hears which have ended there, by NOTIFY.
//
// When a caller waits for a key, its row is marked. The process that ends the key sees the mark and tells all others.
// NOTIFY takes a lock that all committing transactions share. So only marked keys are told, and never inside a batch:
// there is a connection for it, made when it is first needed, and made again when it breaks. Callers that missed a
// message meanwhile find out when they look again by themselves.
#pragma once

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "store/postgres/connection.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store::postgres {

class NotifyListener {
 public:
  using Ended = std::function<void(const Digest&)>;
  using Changed = std::function<void(const Digest*)>;

  NotifyListener(const Clock& clock, std::string url, Millis time_max);
  ~NotifyListener();
  NotifyListener(const NotifyListener&) = delete;
  NotifyListener& operator=(const NotifyListener&) = delete;

  void watch(Ended ended) { ended_ = std::move(ended); }
  // From now on also hears of keys that operators have changed elsewhere. Once, before anything is told.
  void watch_changes(Changed changed);
  void expect(const Digest& id);
  void tell(const std::vector<Digest>& ids);
  // An operator has changed the key here. Every process that watches is told, marked or not: that is rare.
  void tell_changed(const Digest& id);

 private:
  // What is to be sent.
  struct Pending {
    std::vector<Digest> expected;
    std::vector<Digest> told;
    std::vector<Digest> changed;
  };

  void add(std::vector<Digest>& list, const std::vector<Digest>& ids);
  void serve();
  bool connected();
  void work(const Pending& pending);
  bool tell_all(const char* sql, const std::vector<Digest>& ids);
  void hear();
  void wait();

  const Clock& clock_;
  const std::string url_;
  const Millis time_max_;
  const int wake_fd_;
  Ended ended_;
  Changed changed_;
  DatabaseConnection connection_;  // of the thread
  Time retry_at_;

  std::mutex mutex_;
  Pending pending_;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace semel::store::postgres
