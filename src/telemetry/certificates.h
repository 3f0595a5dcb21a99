// When our certificates expire: those that are in use, not those that lie in the files by now.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace semel::telemetry {

struct CertificateExpiry {
  std::string use;  // "server", "api", "upstream.NAME"
  std::string file;
  std::int64_t at_seconds = 0;  // since 1970
};

// May be used from any thread.
class Certificates {
 public:
  void set(std::vector<CertificateExpiry> expiries) {
    const std::scoped_lock lock(mutex_);
    expiries_ = std::move(expiries);
  }
  void render(std::string& out) const;

 private:
  mutable std::mutex mutex_;
  std::vector<CertificateExpiry> expiries_;
};

}  // namespace semel::telemetry
