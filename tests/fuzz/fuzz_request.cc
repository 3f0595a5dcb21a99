// A request is read the same whether it comes in one piece or byte by byte, and nothing in it can crash the parser.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "http/head.h"
#include "http/parser.h"

namespace {

using semel::http::Head;
using semel::http::RequestParser;

struct Reading {
  std::string fields;
  std::string body;
  bool ok = false;
  bool done = false;

  friend bool operator==(const Reading&, const Reading&) = default;
};

std::string described(const Head& head) {
  std::string text;
  text.append(head.method()).append("\n").append(head.target()).append("\n");
  for (const semel::FieldView& field : head.fields())
    text.append(field.name).append(":").append(field.value).append("\n");
  return text;
}

// Feeds the parser as a connection does: what it has not consumed is offered again, with `step` bytes more.
Reading read(std::string_view input, std::size_t step) {
  Reading reading;
  Head head;
  RequestParser parser(head, {.head_bytes = 4096});
  std::string unread;
  while (!parser.done()) {
    if (!parser.head_done()) {
      if (!unread.empty()) {
        const auto taken = parser.read_head(unread);
        if (!taken) return {};
        unread.erase(0, *taken);
        if (parser.head_done()) {
          reading.fields = described(head);
          continue;
        }
      }
    } else if (!unread.empty()) {
      const auto piece = parser.read_body(unread);
      if (!piece) return {};
      reading.body.append(piece->data);
      const bool progress = piece->consumed > 0 || !piece->data.empty();
      unread.erase(0, piece->consumed);
      if (progress) continue;
    }
    if (input.empty()) break;
    const std::string_view more = input.substr(0, step);
    unread.append(more);
    input.remove_prefix(more.size());
  }
  reading.ok = true;
  reading.done = parser.done();
  return reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Reading whole = read(input, size + 1);
  const Reading in_bytes = read(input, 1);
  // Only what is taken matters: a mistake may be noticed early or late, as long as it is never let through.
  if ((whole.done || in_bytes.done) && whole != in_bytes) std::abort();
  return 0;
}
