// Names and help texts are an interface, as in metrics.cc.
#include "telemetry/certificates.h"

#include <mutex>
#include <string>

#include "telemetry/exposition.h"

namespace semel::telemetry {

void Certificates::render(std::string& out) const {
  const std::scoped_lock lock(mutex_);
  if (expiries_.empty()) return;
  heading(out, "semel_certificate_expiry_timestamp_seconds", "gauge",
          "When a certificate that is in use expires, in seconds since 1970.");
  for (const CertificateExpiry& each : expiries_) {
    sample(out,
           "semel_certificate_expiry_timestamp_seconds{use=\"" + label_text(each.use) + "\",file=\"" +
               label_text(each.file) + "\"}",
           each.at_seconds);
  }
}

}  // namespace semel::telemetry
