// The answer of an upstream is read the same in whatever pieces it comes; what is taken of its head can be written anew
// for a client and read again as the same answer; and a head is repaired in one way only.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/field_view.h"
#include "fuzz/reading.h"
#include "http/head.h"
#include "http/parser.h"
#include "http/strict.h"
#include "http/writer.h"

namespace {

using semel::core::check;
using semel::fuzz::fields_of;
using semel::fuzz::is_framing;
using semel::fuzz::Reading;
using semel::http::Head;
using semel::http::HeadWriter;
using semel::http::ResponseParser;

void write_anew(const semel::http::Head& head, const std::string& body) {
  if (head.status() < 200 || head.status() > 599 || head.status() == 204 || head.status() == 304) return;
  std::string out;
  semel::http::HeadWriter writer = semel::http::HeadWriter::response(out, head.status());
  for (const semel::FieldView& field : head.fields()) {
    if (!is_framing(field.name)) writer.field(field.name, field.value);
  }
  writer.length(body.size());
  writer.end();
  if (!writer.sound()) return;
  out.append(body);
  semel::http::Head again;
  const Reading reading =
      semel::fuzz::read<semel::http::ResponseParser>(again, out, out.size(), semel::fuzz::written_head_bytes);
  check(reading.done && reading.size == out.size() && reading.body == body, "what is written is one whole answer");
  check(again.status() == head.status() && fields_of(again) == fields_of(head), "and says the same");
}

std::string without_blanks(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t'; });
  return text;
}

void check_repair(std::string_view input) {
  const std::optional<std::string> repaired = semel::http::without_space_before_colons(input);
  if (!repaired) return;
  check(repaired->size() < input.size(), "something was taken away");
  check(without_blanks(*repaired) == without_blanks(std::string(input)), "and nothing but blanks");
  check(!semel::http::without_space_before_colons(*repaired), "once is enough");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  check_repair(input);
  semel::http::Head head;
  const Reading reading = semel::fuzz::read_in_pieces<semel::http::ResponseParser>(head, input, 2 + size % 13);
  if (reading.done) write_anew(head, reading.body);
  return 0;
}
