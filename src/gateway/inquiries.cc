// Limits first, then the token, then the question, which is asked once more if the token was refused.
#include "gateway/inquiries.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/encoding.h"
#include "core/sha256.h"
#include "gateway/budget.h"
#include "http/failure.h"
#include "http/fetch.h"
#include "webhook/inquiry.h"
#include <semel/async.h>
#include <semel/clock.h>

namespace semel::gateway {
namespace {

constexpr std::size_t at_once_max = 16;
constexpr std::size_t asked_a_minute = 600;
constexpr std::size_t asked_a_minute_of_one = 5;
constexpr std::size_t heard_max = 1'024;
constexpr Millis heard_for{600'000};

}  // namespace

void Inquiries::remember(std::string question, bool verdict) {
  const Time now = clock_.now();
  if (heard_.size() >= heard_max) {
    for (auto at = heard_.begin(); at != heard_.end();) {
      at = now >= at->second.at + heard_for ? heard_.erase(at) : std::next(at);
    }
  }
  if (heard_.size() >= heard_max) {
    heard_.erase(std::ranges::min_element(heard_, {}, [](const auto& each) { return each.second.at; }));
  }
  heard_[std::move(question)] = Heard{.verdict = verdict, .at = now};
}

Task<std::optional<std::string>> Inquiries::token_for(const webhook::Inquiry* inquiry, const std::string* webhook) {
  if (!keys_.find(inquiry->token.kept_as())) co_await keys_.fetch(inquiry->token, *webhook);
  const auto document = keys_.find(inquiry->token.kept_as());
  auto token = document ? webhook::read_access_token(*document) : std::nullopt;
  if (!token) co_return std::nullopt;
  co_return std::move(token->text);
}

Task<std::optional<std::string>> Inquiries::post(const webhook::Inquiry* inquiry, std::string token) {
  http::FetchOrder order{.url = inquiry->url, .body = inquiry->body, .authorization = "Bearer " + token};
  http::Try<std::string> answer = co_await http::fetch(std::move(order), &clock_, executor_);
  if (!answer) co_return std::nullopt;
  co_return *std::move(answer);
}

Task<std::optional<bool>> Inquiries::ask_now(const webhook::Inquiry* inquiry, const std::string* webhook) {
  std::optional<std::string> token = co_await token_for(inquiry, webhook);
  if (!token) co_return std::nullopt;
  std::optional<std::string> answer = co_await post(inquiry, *token);
  if (!answer) {
    // The token may have been revoked. One that was just fetched is not fetched again.
    const bool renewed = co_await keys_.fetch(inquiry->token, *webhook);
    if (!renewed) co_return std::nullopt;
    token = co_await token_for(inquiry, webhook);
    if (!token) co_return std::nullopt;
    answer = co_await post(inquiry, *std::move(token));
  }
  if (!answer) co_return std::nullopt;
  keys_.confirm(inquiry->token.kept_as());
  co_return webhook::read_verdict(*answer);
}

Task<std::optional<bool>> Inquiries::ask(webhook::Inquiry inquiry, std::string webhook) {
  std::string question = core::to_hex(core::sha256(inquiry.url + "\n" + inquiry.body));
  const auto heard = heard_.find(question);
  if (heard != heard_.end() && clock_.now() < heard->second.at + heard_for) co_return heard->second.verdict;
  if (under_way_[webhook] >= at_once_max) co_return std::nullopt;
  const Share about_one{.account = webhook + "\n" + inquiry.subject, .limit = asked_a_minute_of_one};
  const Share in_all{.account = webhook, .limit = asked_a_minute};
  if (!budget_.pay(in_all, about_one)) co_return std::nullopt;
  ++under_way_[webhook];
  const std::optional<bool> verdict = co_await ask_now(&inquiry, &webhook);
  --under_way_[webhook];
  if (verdict) remember(std::move(question), *verdict);
  co_return verdict;
}

}  // namespace semel::gateway
