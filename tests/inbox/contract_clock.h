// The clock of the contract: turned by hand, or that of this machine, where a server has a clock of its own. Then the
// time that passes is taken from what the server has stored.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "support/virtual_clock.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::test {

class ContractClock : public Clock {
 public:
  // From now on time goes by itself, and `age` makes what is stored older.
  void go_by(std::function<void(Millis)> age) {
    real_ = make_system_clock();
    age_ = std::move(age);
  }
  void advance(Millis by) {
    if (real_ != nullptr) {
      age_(by);
    } else {
      turned_.advance(by);
    }
  }

  [[nodiscard]] Time now() const override { return of().now(); }
  [[nodiscard]] std::unique_ptr<Alarm> after(Executor executor, Millis delay, std::function<void()> ring) override {
    if (real_ != nullptr) return real_->after(std::move(executor), delay, std::move(ring));
    return turned_.after(std::move(executor), delay, std::move(ring));
  }

 private:
  [[nodiscard]] const Clock& of() const {
    if (real_ != nullptr) return *real_;
    return turned_;
  }

  VirtualClock turned_;
  std::unique_ptr<Clock> real_;
  std::function<void(Millis)> age_;
};

}  // namespace semel::test
