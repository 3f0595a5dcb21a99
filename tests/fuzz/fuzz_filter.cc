// Fuzzes the filters of the inbox and the targets of its handlers.
//
// The first line is the filter, the second the target, the third the type of an event; the rest is its body. A text is
// taken, or refused with a place inside it. A filter that was taken ends on any event, and `not` of it says the
// opposite. A target stays one line of visible ASCII that begins with a slash.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"
#include "inbox/destination.h"
#include "inbox/event_view.h"
#include "inbox/filter.h"
#include "policy/request_view.h"

namespace {

std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(text.size(), end + 1));
  return line;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::string_view when = take_line(text);
  const std::string_view target = take_line(text);
  semel::inbox::EventView event{.request = {}, .type = take_line(text), .object = "o"};
  event.request.method = "POST";
  semel::policy::set_target(event.request, "/hooks");
  event.request.body = text;

  const auto filter = semel::inbox::EventFilter::parse(when);
  if (filter) {
    const auto opposite = semel::inbox::EventFilter::parse("not (" + std::string(when) + ")");
    if (opposite) semel::core::check(opposite->takes(event) != filter->takes(event), "not says the opposite");
  } else {
    semel::core::check(filter.error().offset <= when.size(), "a fault is in the text");
  }
  const auto parsed = semel::inbox::HandlerTarget::parse(target);
  if (!parsed) {
    semel::core::check(parsed.error().offset <= target.size(), "a fault is in the text");
    return 0;
  }
  const auto rendered = parsed->render(event);
  if (!rendered) return 0;
  semel::core::check(rendered->starts_with('/'), "a target is a path");
  semel::core::check(std::ranges::all_of(*rendered, [](char c) { return c > ' ' && c <= '~'; }),
                     "a target is one line");
  return 0;
}
