// Version 4 of the schema. Each part stands in a file of its own; schema_4.cc is the list of them.
#pragma once

#include <span>
#include <string_view>

namespace semel::store::postgres {

extern const std::string_view dead_4;
extern const std::string_view notes_4;
extern const std::string_view roll_4;
extern const std::string_view jobs_4;
extern const std::string_view job_steps_4;
extern const std::string_view job_rows_4;
extern const std::string_view leads_4;
extern const std::string_view beat_4;
extern const std::string_view settings_4;  // the last

// To be run one after the other.
std::span<const std::string_view> parts_4();

}  // namespace semel::store::postgres
