#include "telemetry/strangers.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>

#include "webhook/signatures.h"
#include <semel/clock.h>

namespace semel::telemetry {

void Strangers::add(std::string_view address, webhook::SignatureFault fault, Time now) {
  const std::scoped_lock lock(mutex_);
  const auto is_it = [&](const Place& place) {
    return place.stranger.fault == fault && place.stranger.address == address;
  };
  auto place = std::ranges::find_if(places_, is_it);
  if (place == places_.end()) {
    std::uint64_t inherited = 0;
    if (places_.size() < places) {
      place = places_.emplace(places_.end());
    } else {
      place = std::ranges::min_element(places_, {}, &Place::weight);
      inherited = place->weight;
      partial_ = true;
    }
    *place = {.stranger = {.address = std::string(address), .fault = fault, .first = now}, .weight = inherited};
  }
  ++place->weight;
  ++place->stranger.count;
  place->stranger.last = now;
}

Strangers::View Strangers::view() const {
  View view;
  {
    const std::scoped_lock lock(mutex_);
    for (const Place& place : places_) view.strangers.push_back(place.stranger);
    view.partial = partial_;
  }
  std::ranges::sort(view.strangers, std::greater{}, &Stranger::count);
  return view;
}

}  // namespace semel::telemetry
