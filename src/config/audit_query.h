// What can be told of a query without asking a database: which parameters and words it has. Strings, quoted names and
// comments are skipped as PostgreSQL skips them.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace semel::config {

struct QueryWords {
  std::set<std::string> words;   // in lower case
  std::set<std::string> quoted;  // names in quotes, as they are
  std::string first;             // the first of them
  std::set<unsigned> parameters;
  bool star = false;    // a `*` stands in it
  bool ends = false;    // a semicolon with something behind it
  bool broken = false;  // a string, a name or a comment has no end
};

QueryWords words_of(std::string_view query);

// Why the query cannot be that of an audit; empty if nothing speaks against it. It may still be refused by the
// database.
std::string fault_of_query(std::string_view query);

}  // namespace semel::config
