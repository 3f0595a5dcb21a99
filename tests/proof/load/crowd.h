// Clients of the proof that go on until they are told to stop: tests/e2e/oracle.py's load, in a hurry.
//
// Each is a thread with a connection. What it asks next goes by a seed: a new operation, one of late again, one of late
// under another tenant, or its key for another request.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "load/book.h"
#include "load/caller.h"
#include "load/line.h"

namespace semel::proof {

struct CrowdOptions {
  std::vector<Endpoint> gateways;   // shared out among the clients
  std::vector<std::string> routes;  // of new operations
  std::vector<unsigned> delays_ms;  // of the origin
  std::size_t clients = 0;
  std::uint64_t seed = 0;
};

class Crowd {
 public:
  // `book` must outlive the crowd.
  Crowd(CrowdOptions options, Book& book) : options_(std::move(options)), book_(book) {}
  ~Crowd() { stop(); }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  void start();
  // Everybody hangs up and waits; returns when nothing is under way, or after so many seconds.
  void pause(double seconds);
  void go_on();
  void stop();

  // Asks one gateway for every operation until it is settled, for at most so many seconds each.
  void settle(const Endpoint& at, double seconds);
  [[nodiscard]] std::vector<Operation> operations();

 private:
  using Chance = std::mt19937_64;

  Operation pick(Chance& chance);
  void run(std::size_t number);
  bool wait_to_go_on(Caller& caller);

  const CrowdOptions options_;
  Book& book_;
  std::atomic<std::uint64_t> requests_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Operation> recent_;
  std::set<Operation> operations_;
  std::uint64_t keys_ = 0;
  bool going_ = true;
  bool stopped_ = false;
  std::size_t resting_ = 0;
  std::vector<std::jthread> threads_;
};

}  // namespace semel::proof
