// What a gateway notes of a key before its request goes upstream, on routes that have a resolver.
//
// A record has only hashes. Whoever asks a service or a database what became of a request needs the text of its key,
// and after a crash nobody else has it. The note is a row of the history: a key whose note is lost, because the power
// failed or the history could not be written, is one that a person has to settle. No verdict ever rests on its absence.
#pragma once

#include <optional>
#include <string>

#include "store/history.h"
#include <semel/clock.h>
#include <semel/key.h>

namespace semel::store {

struct Reminder {
  std::string route;   // the path of the route, as it is configured
  std::string key;     // its text
  std::string target;  // of the route's probe for this request; empty if there is none
};

// `id` is the key's name in the store (Desk::named()).
HistoryRow to_row(const Reminder& reminder, const Digest& id, Time at);
// None if the row is not one.
std::optional<Reminder> reminder_in(const HistoryRow& row);

}  // namespace semel::store
