// Which heads are refused although they can be parsed.
//
// Where the RFCs (9110, 9112) allow two readings, we take the strict one: an attacker can use it if two programs read
// one message differently. A caller that refuses a request for this closes the connection. Pure: no I/O.
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

// Returns what is wrong with a request; nothing if it may be answered.
std::optional<HeadFault> fault_of(const Head& request);

// Whether a field continues on a second line. That is long obsolete (RFC 9112 §5.2), and programs disagree on whether
// it is one field.
bool is_folded(std::string_view head);

// Whether there is a line feed that does not follow a carriage return.
bool has_bare_line_feed(std::string_view text);

// Whether the first line ends with a bare line feed. Then there is no need to wait for the rest.
bool first_line_is_bare(std::string_view head);

// Returns a head without the white space before its colons; nothing if there is none. A proxy has to remove it from an
// answer (RFC 9112 §5.1); in a request it is a mistake like any other. `head` must be complete.
std::optional<std::string> without_space_before_colons(std::string_view head);

// Whether all programs agree on where the body of a message ends: it has no Transfer-Encoding, or it is HTTP/1.1 with
// `chunked` and nothing else.
enum class Coding : std::uint8_t { plain, unknown, faulty };
Coding coding_of(const Head& message);

}  // namespace semel::http
