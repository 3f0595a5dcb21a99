// Names and help texts are an interface, as in metrics.cc.
#include "telemetry/reloads.h"

#include <cstdint>
#include <string>

#include "telemetry/exposition.h"

namespace semel::telemetry {

void Reloads::succeeded(std::int64_t now) {
  ++succeeded_;
  last_failed_ = false;
  last_success_ = now;
}

void Reloads::failed() {
  ++failed_;
  last_failed_ = true;
}

void Reloads::render(std::string& out) const {
  heading(out, "semel_config_reloads_total", "counter", "How often the configuration was read again, by result.");
  sample(out, "semel_config_reloads_total{result=\"ok\"}", succeeded_.load());
  sample(out, "semel_config_reloads_total{result=\"failed\"}", failed_.load());
  heading(out, "semel_config_last_reload_successful", "gauge",
          "1 if the file was fine when it was last read; 0 if an older configuration is in force.");
  sample(out, "semel_config_last_reload_successful", last_failed_ ? 0 : 1);
  heading(out, "semel_config_last_reload_success_timestamp_seconds", "gauge",
          "When the configuration in force was read, in seconds since 1970.");
  sample(out, "semel_config_last_reload_success_timestamp_seconds", last_success_.load());
}

}  // namespace semel::telemetry
