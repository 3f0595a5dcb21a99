// What a resolver thinks of a key, for the desk: a row of the history, one for each attempt, replaced each time the
// source is asked. Every gateway on the store sees it, and one that starts anew goes on from it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "resolver/ruling.h"
#include "store/history.h"
#include <semel/async.h>
#include <semel/clock.h>
#include <semel/response.h>
#include <semel/store.h>

namespace semel::resolver {

// Of an answer that a suggestion has. A larger one is left out, and the reason says so.
inline constexpr std::size_t suggested_body_bytes_max = 256U << 10U;

struct Suggestion {
  RulingKind ruling = RulingKind::ask_again;
  std::string why;
  std::string route;                // of the resolver
  std::string node;                 // that asked
  Time asked_at{};                  // by its clock
  std::uint32_t asks = 0;           // so far
  Millis watched{0};                // see watch.h
  bool seen = false;                // the source had the key, now or before
  SharedResponse answer = nullptr;  // of `done`; null if it is too large for a row, too
};

store::HistoryRow to_row(const Suggestion& suggestion, const Record& record);
// None if the row is of another attempt of the key, or cannot be read.
std::optional<Suggestion> suggestion_in(const store::HistoryRow& row, const Record& record);

// That of the attempt that the record is of. None if there is none.
Async<std::optional<Suggestion>> find_suggestion(store::History* history, Record record);

}  // namespace semel::resolver
