#include "sim/upstream.h"

#include <memory>
#include <string>

namespace semel::sim {

SharedResponse Upstream::answer(std::uint16_t status, std::uint64_t nonce) {
  return std::make_shared<const Response>(
      Response{.status = status, .fields = {{"X-Nonce", "n"}}, .body = std::to_string(nonce), .body_kept = true});
}

SharedResponse Upstream::act(Attempt& attempt) {
  if (attempt.sealed) {
    world_.note(attempt.key, attempt.process, "effect refused: sealed", attempt.fence);
    return nullptr;
  }
  const std::uint64_t nonce = ++nonces_;
  oracle_.issued(attempt.key, nonce);
  oracle_.effect(attempt, nonce);
  return answer(201, nonce);
}

SharedResponse Upstream::refuse(int key) {
  const std::uint64_t nonce = ++nonces_;
  oracle_.issued(key, nonce);
  return answer(402, nonce);
}

Outcome Upstream::probe(int key) {
  if (world_.strikes(1'000)) return {.verdict = Verdict::unknown, .response = nullptr};
  const std::uint64_t nonce = oracle_.probed(key);
  if (nonce == 0) return {.verdict = Verdict::release, .response = nullptr};
  return {.verdict = Verdict::keep, .response = answer(201, nonce)};
}

}  // namespace semel::sim
