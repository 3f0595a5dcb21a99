// What to do about a statement that the server refused, by its SQLSTATE. Nothing of it was applied.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <semel/result.h>

namespace semel::store::postgres {

enum class Remedy : std::uint8_t {
  split,      // one row has failed, not known which: try each alone; a single one is refused
  repeat,     // it met another transaction: try again, each alone
  reconnect,  // this server cannot be used (any more): try again on another connection
  greet,      // it may be another server or database than the connection was made to: look, then try again
  refuse,     // it would fail again
};

Remedy remedy_for(std::string_view state);

// The error for the callers; says what to do if something can be done.
Error refusal(std::string_view state, const std::string& message);

}  // namespace semel::store::postgres
