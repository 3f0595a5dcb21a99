// An outbound call with a derived key: the provider deduplicates, too, so even an unknown outcome is safe to try again.
#include <iostream>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <variant>

#include <semel/blocking_once.h>
#include <semel/clock.h>
#include <semel/derived_key.h>
#include <semel/stores.h>

namespace {

// Somebody else's API, which takes an Idempotency-Key as well. Its first answer gets lost on the way.
class CardProvider {
 public:
  std::string charge(const std::string& idempotency_key, int cents) {
    const bool first = charges_.try_emplace(idempotency_key, "ch_" + std::to_string(charges_.size() + 1)).second;
    if (first) total_ += cents;
    if (first) throw std::runtime_error("the connection was reset");
    return charges_[idempotency_key];
  }
  [[nodiscard]] int total() const { return total_; }

 private:
  std::map<std::string, std::string> charges_;
  int total_ = 0;
};

}  // namespace

int main() {
  const auto clock = semel::make_system_clock();
  const auto opened = semel::make_memory_store(*clock);
  semel::BlockingOnce once(*opened.store, *clock, std::random_device()());
  CardProvider provider;
  const auto key = semel::make_key("orders", "customer-7", "order-1234");
  if (!key) return 1;

  // Retrying an unknown outcome is right here, and only here: the provider recognises the key, however often it comes.
  const semel::Policy policy{.on_unknown = semel::Policy::OnUnknown::retry};
  for (int attempt = 1; attempt <= 3; ++attempt) {
    const semel::Answer answer = once.run(*key, {}, policy, [&](semel::Fence) {
      const std::string charge = provider.charge(semel::derived_key(*key, "charge"), 1'000);
      return semel::Outcome::kept({.status = 201, .fields = {}, .body = charge});
    });
    if (std::holds_alternative<semel::Refused>(answer)) std::cout << "unknown\n";
    if (const auto* ran = std::get_if<semel::Ran>(&answer)) std::cout << "ran: " << ran->outcome.response->body << "\n";
    if (const auto* again = std::get_if<semel::Replayed>(&answer)) {
      std::cout << "replayed: " << again->response->body << "\n";
    }
  }
  std::cout << "charged " << provider.total() << " cents\n";
}
