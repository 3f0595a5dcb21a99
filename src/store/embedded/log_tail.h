// Where a write-ahead log ends after a crash.
//
// A log file is longer than its records (prepared_logs.h). If the process is killed, zeros follow the last record; if
// the power fails, perhaps torn pieces of the record that was being written. The engine takes zeros for the end of the
// log, but a torn record in front of them for damage. So each log is cut after its last whole record before the engine
// opens it.
//
// Only one record is ever on its way to the disk, and it has not been acknowledged. So a broken end may be cut off if
// no whole record follows it. If one does, the log is damaged, and nothing is touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <semel/result.h>

namespace semel::store::embedded {

// The end of the last whole record of `log`, which starts at a block of the engine's log format. `from` is known to be
// the end of a record, or 0. Code::corrupt: see above.
Result<std::uint64_t> end_of_log(std::string_view log, std::uint64_t from);

// Cuts `log` to that end. The engine judges everything before `from`.
Result<void> cut_log(const std::filesystem::path& log, std::uint64_t from);

}  // namespace semel::store::embedded
