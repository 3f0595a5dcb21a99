// The newest that was seen of a database, in a file, so that a restart does not forget it.
//
// A server cannot tell that it has been replaced, and a copy cannot tell that it is one: that is known to those who
// have seen more.
#pragma once

#include <filesystem>
#include <string>

#include "store/postgres/seen.h"
#include <semel/result.h>

namespace semel::store::postgres {

// Nothing has been seen if there is no file yet. Code::unavailable: it cannot be read. Code::corrupt: it is damaged.
Result<Reached> load_seen(const std::filesystem::path& folder, const std::string& database);

// Makes the file say at least `seen`, and returns what it says then: that is something else if others, who may share
// the folder, have seen more, or another database. One atomic step. Durable when it returns. Errors as above.
Result<Reached> raise_seen(const std::filesystem::path& folder, const std::string& database, const Reached& seen);

}  // namespace semel::store::postgres
