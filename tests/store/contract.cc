// How the suite calls a store from outside any coroutine, and lets time pass.

#include "store/contract.h"

#include <array>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "support/run.h"

namespace semel::test {
namespace {

// Far enough apart in every byte that keys spread as hashes do; different in scope and namespace from none but itself.
Digest digest_of(std::uint64_t number) {
  Digest digest{};
  std::uint64_t state = number;
  for (std::uint8_t& byte : digest) {
    state = (state * 6'364'136'223'846'793'005U) + 1'442'695'040'888'963'407U;
    byte = static_cast<std::uint8_t>(state >> 56U);
  }
  return digest;
}

}  // namespace

std::string_view code_name(Code code) {
  constexpr std::array<std::string_view, 5> names{"invalid", "fenced", "unavailable", "full", "corrupt"};
  return names.at(static_cast<std::size_t>(code));
}

SharedResponse answer_of(std::string body, std::uint16_t status) {
  return std::make_shared<const Response>(Response{
      .status = status, .fields = {{"Content-Type", "text/plain"}}, .body = std::move(body), .body_kept = true});
}

Fingerprint fingerprint_of(std::uint64_t number) {
  return {.digest = digest_of(number ^ 0xf1'99'e7U)};
}

StoreContract::StoreContract() : real_clock_(make_system_clock()), place_(GetParam().make()) {
  open();
}

void StoreContract::open() {
  store::CapableStore opened = place_->open(clock());
  reopening_ = opened.reopening;
  lookup_ = opened.lookup;
  desk_ = opened.desk;
  audit_ = opened.audit;
  kept_ = opened.history;
  notes_ = opened.notes;
  roll_ = opened.roll;
  store_ = std::move(opened.store);
}

Clock& StoreContract::clock() {
  if (exact()) return virtual_clock_;
  return *real_clock_;
}

void StoreContract::outlast(Millis span) {
  if (exact()) {
    virtual_clock_.advance(span);
  } else {
    std::this_thread::sleep_for(span + Millis{20});
  }
}

Key StoreContract::fresh_key() {
  Key key;
  key.id = digest_of(++keys_);
  key.scope = {1, 2, 3, static_cast<std::uint8_t>(keys_)};
  key.space = "orders";
  return key;
}

Terms StoreContract::terms(Terms::Lapsed lapsed) {
  Terms terms;
  terms.lease = ample;
  terms.ttl = 24 * ample;
  terms.lapsed = lapsed;
  terms.owner = fresh_owner();
  return terms;
}

Result<Claim> StoreContract::claim(const Key& key, const Terms& terms, Fingerprint fingerprint) {
  return run(context_, store_->claim(key, fingerprint, terms));
}

Result<void> StoreContract::renew(const Key& key, Fence fence, Millis lease) {
  return run(context_, store_->renew(key, fence, lease));
}

Result<void> StoreContract::complete(const Key& key, Fence fence, SharedResponse response) {
  return run(context_, store_->complete(key, fence, std::move(response)));
}

Result<void> StoreContract::release(const Key& key, Fence fence) {
  return run(context_, store_->release(key, fence));
}

Granted StoreContract::take(const Key& key, const Terms& terms) {
  const Result<Claim> answer = claim(key, terms);
  if (!answer) throw std::runtime_error("the claim failed: " + answer.error().detail);
  if (!std::holds_alternative<Granted>(*answer)) throw std::runtime_error("the key is held");
  return std::get<Granted>(*answer);
}

Held StoreContract::look(const Key& key) {
  const Result<Claim> answer = claim(key, terms(), fingerprint_of(99));
  if (!answer) throw std::runtime_error("the claim failed: " + answer.error().detail);
  if (!std::holds_alternative<Held>(*answer)) throw std::runtime_error("the key is free");
  return std::get<Held>(*answer);
}

std::string StoreContract::kept_body(const Key& key) {
  const Held held = look(key);
  if (held.record.response == nullptr) throw std::runtime_error("no response is kept");
  return held.record.response->body;
}

std::size_t StoreContract::sweep(std::size_t limit) {
  const Result<std::size_t> count = run(context_, store_->sweep(limit));
  if (!count) throw std::runtime_error("the sweep failed: " + count.error().detail);
  if (*count > limit) throw std::runtime_error("the sweep deleted more than it was asked to");
  return *count;
}

std::vector<std::size_t> StoreContract::sweep_all(std::size_t limit) {
  std::vector<std::size_t> counts;
  while (const std::size_t count = sweep(limit)) counts.push_back(count);
  return counts;
}

void StoreContract::reopen() {
  store_.reset();
  open();
}

}  // namespace semel::test
