// Names and help texts are an interface, as in telemetry/metrics.cc.
#include "admin/doubt_count.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include "store/desk.h"
#include "telemetry/exposition.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/result.h>
#include <semel/store.h>

namespace semel::admin {
namespace {

std::string rendered(const store::KeyList& list) {
  Millis oldest{0};
  for (const Held& held : list.items) {
    const Time now = held.record.expires_at - held.left;  // by the store's clock
    oldest = std::max(oldest, now - held.record.claimed_at);
  }
  std::string out;
  telemetry::heading(out, "semel_unknown_keys", "gauge",
                     "Keys of unknown outcome that one look at the store found, at most 10000.");
  telemetry::sample(out, "semel_unknown_keys", list.items.size());
  telemetry::heading(out, "semel_unknown_keys_partial", "gauge",
                     "1 if that look ended before it had seen every key: there may be more.");
  telemetry::sample(out, "semel_unknown_keys_partial", list.cursor.empty() ? 0 : 1);
  telemetry::heading(out, "semel_oldest_unknown_seconds", "gauge",
                     "How long ago the oldest of these keys was claimed; 0 if there is none.");
  telemetry::sample(out, "semel_oldest_unknown_seconds", static_cast<double>(oldest.count()) / 1'000);
  return out;
}

}  // namespace

const std::string& DoubtCount::text(Time now, const Executor& executor) {
  if (!looked_at_ || now >= *looked_at_ + kept_for) {
    looked_at_ = now;
    boost::asio::co_spawn(executor, look(shared_from_this()), boost::asio::detached);
  }
  return text_;
}

Task<void> DoubtCount::look(std::shared_ptr<DoubtCount> self) {
  store::KeyFilter filter;
  filter.items_max = store::looks_max;
  const Result<store::KeyList> list = co_await self->desk_.list(std::move(filter), std::string());
  self->text_ = list ? rendered(*list) : std::string();
}

}  // namespace semel::admin
