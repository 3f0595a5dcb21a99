// A request is read the same in whatever pieces it comes, nothing in it can crash the parser, and what is taken of it
// can be written anew and read again as the same request.
#include <cstddef>
#include <cstdint>
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
using semel::http::RequestParser;

void write_anew(const semel::http::Head& head, const std::string& body) {
  std::string out;
  semel::http::HeadWriter writer = semel::http::HeadWriter::request(out, head.method(), head.target());
  for (const semel::FieldView& field : head.fields()) {
    if (!is_framing(field.name)) writer.field(field.name, field.value);
  }
  writer.length(body.size());
  writer.end();
  if (!writer.sound()) return;  // obs-text and the like: whoever forwards leaves such a field out
  out.append(body);
  semel::http::Head again;
  const Reading reading =
      semel::fuzz::read<semel::http::RequestParser>(again, out, out.size(), semel::fuzz::written_head_bytes);
  check(reading.done && reading.size == out.size() && reading.body == body, "what is written is one whole request");
  check(again.method() == head.method() && again.target() == head.target(), "with the same first line");
  check(fields_of(again) == fields_of(head), "and the same fields");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  semel::http::Head head;
  const Reading reading = semel::fuzz::read_in_pieces<semel::http::RequestParser>(head, input, 2 + size % 13);
  if (reading.done && head.version() == 11 && !semel::http::fault_of(head)) write_anew(head, reading.body);
  return 0;
}
