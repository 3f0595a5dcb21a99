// Where a write-ahead log ends after a crash.
//
// A log is longer than what is in it (prepared_logs.h). When the process is killed zeros follow its last record, and
// when the power goes, perhaps torn pieces of the one that was being written. The engine takes zeros for the end but a
// torn record in front of them for damage. So before it opens a log, the log is cut where its last whole record ends.
//
// Only one record is ever on its way to the disk, and nobody was told that it is there. So what is broken may be cut if
// nothing that is whole follows it; if something does, the log is damaged, and nothing is touched.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <semel/result.h>

namespace semel::store::embedded {

// The end of the last whole record of `log`, which starts at a block of the engine's log format. `from` is known to be
// the end of a record, or 0. Code::corrupt: see above.
Result<std::uint64_t> end_of_log(std::string_view log, std::uint64_t from);

// Cuts `log` to that end. All up to `from` is the engine's to judge.
Result<void> cut_log(const std::filesystem::path& log, std::uint64_t from);

}  // namespace semel::store::embedded
