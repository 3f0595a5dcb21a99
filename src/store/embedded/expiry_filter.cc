#include "store/embedded/expiry_filter.h"

#include <atomic>
#include <optional>
#include <string>
#include <string_view>

#include "core/codec.h"
#include <semel/store.h>

namespace semel::store::embedded {

bool ExpiryFilter::Filter(int /*level*/, const rocksdb::Slice& /*key*/, const rocksdb::Slice& value,
                          std::string* /*new_value*/, bool* /*value_changed*/) const {
  const std::optional<core::RecordOutline> seen = core::outline(std::string_view(value.data(), value.size()));
  if (!seen || (seen->state != Record::State::done && seen->state != Record::State::released)) return false;
  return now_.load(std::memory_order_relaxed) - margin >= seen->expires_at;
}

}  // namespace semel::store::embedded
