// Asks a PostgreSQL database, with the query of the configuration, in a transaction that can only read.
//
// The keys go as one array. If the database refuses them together, because one of them is no value of the column's
// type, they are asked in halves, so that one bad key keeps no other from being settled.
#pragma once

#include <memory>
#include <string>

#include "resolver/answer_rows.h"
#include "resolver/source.h"
#include <semel/clock.h>
#include <semel/result.h>

namespace semel::resolver {

struct SqlQuestion {
  std::string url;
  std::string query;
  bool scoped = false;  // the rows have a scope
  bool typed = false;   // the rows have a content_type
  Millis timeout{5'000};
};

// Asks about no key. Code::invalid: the database does not take the query, or it lacks a column; Code::unavailable: it
// cannot be asked.
Result<void> check_question(const Clock& clock, const SqlQuestion& question);

// What is wrong with the address or the query is found when it is asked, and told each time.
std::unique_ptr<Source> make_sql_source(const Clock& clock, SqlQuestion question, AnswerRules rules);

}  // namespace semel::resolver
