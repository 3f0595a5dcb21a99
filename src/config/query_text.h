// What can be said about a query without a database: whether it reads, takes its parameter and names its columns. The
// database itself says the rest when it is asked.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace semel::config {

struct QueryFault {
  std::size_t offset = 0;  // in the query
  std::string message;
};

// None if it is fine: one SELECT (or WITH) with $1 that has the columns key, status and body, and scope if `scoped`.
std::optional<QueryFault> fault_of_query(std::string_view query, bool scoped);

// Whether the word stands in the query, outside of strings and comments.
bool query_has_word(std::string_view query, std::string_view word);

}  // namespace semel::config
