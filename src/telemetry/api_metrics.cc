// Names and help texts are an interface, as in metrics.cc.
#include "telemetry/api_metrics.h"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "telemetry/exposition.h"

namespace semel::telemetry {

ApiCounters& ApiMetrics::token(std::string_view name) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::ranges::find(tokens_, name, &ApiCounters::name);
  return found != tokens_.end() ? *found : tokens_.emplace_back(std::string(name));
}

void ApiMetrics::render(std::string& out) const {
  const std::scoped_lock lock(mutex_);
  const auto strange = strangers.load(std::memory_order_relaxed);
  if (tokens_.empty() && strange == 0) return;
  heading(out, "semel_api_unauthorized_total", "counter", "Requests to the claims API without a token that is known.");
  sample(out, "semel_api_unauthorized_total", strange);
  heading(out, "semel_api_items_total", "counter", "Items of the claims API, by token, call and outcome.");
  for (const ApiCounters& token : tokens_) {
    for (std::size_t call = 0; call < ApiCounters::calls.size(); ++call) {
      for (std::size_t outcome = 0; outcome < ApiCounters::outcomes.size(); ++outcome) {
        const auto count = token.items.at(call).at(outcome).load(std::memory_order_relaxed);
        if (count == 0) continue;
        fmt::format_to(std::back_inserter(out), "semel_api_items_total{{token=\"{}\",call=\"{}\",outcome=\"{}\"}} {}\n",
                       label_text(token.name), ApiCounters::calls.at(call), ApiCounters::outcomes.at(outcome), count);
      }
    }
  }
}

}  // namespace semel::telemetry
