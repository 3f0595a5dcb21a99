// What is refused of a head although it can be parsed.
//
// Where the RFCs (9110, 9112) allow two readings, the strict one: two programs that read one message differently can be
// played off against each other. Pure: no I/O. Whoever refuses a request for this closes the connection.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/head.h"

namespace semel::http {

struct HeadFault {
  std::uint16_t status = 400;
  std::string_view detail;  // a sentence for the sender
};

// Nothing: the request may be answered.
std::optional<HeadFault> fault_of(const Head& request);

// A field that goes on in a second line: long obsolete (RFC 9112 §5.2), and not every program sees one field there.
bool is_folded(std::string_view head);

// A line feed that does not follow a carriage return.
bool has_bare_line_feed(std::string_view text);

// Whether the first line ends with a bare line feed: no need to wait for the rest.
bool first_line_is_bare(std::string_view head);

// A head without the white space before its colons, if there is any: a proxy has to take it away from an answer
// (RFC 9112 §5.1), while in a request it is a mistake like any other. `head` is a whole one.
std::optional<std::string> without_space_before_colons(std::string_view head);

// Whether the body of a message is framed in a way that every reader understands alike: no Transfer-Encoding, or
// `chunked` and nothing else, in HTTP/1.1.
enum class Coding : std::uint8_t { plain, unknown, faulty };
Coding coding_of(const Head& message);

}  // namespace semel::http
