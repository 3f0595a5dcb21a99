// A message as a parser reads it when it comes in pieces: what is not consumed is offered again, with some bytes more,
// as a connection does it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <boost/beast/core/string.hpp>

#include "core/check.h"
#include "core/field_view.h"
#include "http/head.h"
#include "http/parser.h"

namespace semel::fuzz {

struct Reading {
  std::string head;  // everything that the head says, framing apart
  std::string body;
  std::size_t size = 0;  // of the message, once it is done
  bool done = false;

  friend bool operator==(const Reading&, const Reading&) = default;
};

inline std::string described(const http::Head& head) {
  std::string text = std::to_string(head.status()) + '\n' + std::to_string(head.version()) + '\n';
  text.append(head.method()).append("\n").append(head.target()).append("\n");
  for (const FieldView& field : head.fields()) {
    text.append(field.name).append(":").append(field.value).append("\n");
    core::check(field.value.find_first_of(std::string_view("\r\n\0", 3)) == std::string_view::npos,
                "a value is one line");
    core::check(field.name.find_first_of(std::string_view("\r\n\0 \t:", 6)) == std::string_view::npos,
                "a name is a token");
  }
  return text;
}

inline bool is_framing(std::string_view name) {
  return boost::beast::iequals(name, "Content-Length") || boost::beast::iequals(name, "Transfer-Encoding");
}

// What a head that is written anew must say again; framing may be another.
inline std::string fields_of(const http::Head& head) {
  std::string text;
  for (const FieldView& field : head.fields()) {
    if (!is_framing(field.name)) text.append(field.name).append(":").append(field.value).append("\n");
  }
  return text;
}

inline constexpr std::uint32_t head_bytes = 4096;
// Of a head that is written anew: it has a space behind each colon, and framing of its own.
inline constexpr std::uint32_t written_head_bytes = 2 * head_bytes;

// Reads into `head`. Not done: refused, or there was not enough. The peer closes behind the last byte.
template <class Parser>
Reading read(http::Head& head, std::string_view input, std::size_t step, std::uint32_t head_max = head_bytes) {
  Reading reading;
  Parser parser(head, {.head_bytes = head_max});
  std::string unread;
  const std::size_t all = input.size();
  while (!parser.done()) {
    bool progress = false;
    if (!unread.empty() && !parser.head_done()) {
      const auto taken = parser.read_head(unread);
      if (!taken) return {};
      unread.erase(0, *taken);
      progress = parser.head_done();
      if (progress) reading.head = described(head);
    } else if (!unread.empty()) {
      const auto piece = parser.read_body(unread);
      if (!piece) return {};
      reading.body.append(piece->data);
      progress = piece->consumed > 0 || !piece->data.empty();
      unread.erase(0, piece->consumed);
    }
    if (progress) continue;
    if (input.empty()) {
      if (!parser.head_done() || !parser.read_end()) return {};
      continue;
    }
    const std::string_view more = input.substr(0, step);
    unread.append(more);
    input.remove_prefix(more.size());
  }
  reading.done = true;
  reading.size = all - input.size() - unread.size();
  return reading;
}

// In one piece, byte by byte, and in pieces of some size: always the same, or never done. Returns the first.
template <class Parser>
Reading read_in_pieces(http::Head& head, std::string_view input, std::size_t step) {
  for (const std::size_t size : {std::size_t{1}, step}) {
    http::Head other;
    const Reading pieces = read<Parser>(other, input, size);
    http::Head whole_head;
    const Reading whole = read<Parser>(whole_head, input, input.size() + 1);
    core::check(pieces == whole, "it does not matter in which pieces a message comes");
  }
  return read<Parser>(head, input, input.size() + 1);
}

}  // namespace semel::fuzz
