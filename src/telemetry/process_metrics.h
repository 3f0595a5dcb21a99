// The process as the operating system sees it, under the names that Prometheus' own libraries use.
#pragma once

#include <string>

namespace semel::telemetry {

// Read from /proc. What cannot be read is left out.
void render_process(std::string& out);

}  // namespace semel::telemetry
