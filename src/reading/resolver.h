// Where a secret that the configuration only names comes from: `env:NAME`, `file:PATH`.
//
// Reading the environment and files is I/O, so it is passed in; the command line has the real one.
#pragma once

#include <optional>
#include <string>

#include <semel/result.h>

namespace semel::reading {

class Resolver {
 public:
  virtual ~Resolver() = default;

  // Null if there is no such variable.
  [[nodiscard]] virtual std::optional<std::string> environment(const std::string& name) const = 0;

  // The whole file. The detail of an error says why it cannot be read.
  [[nodiscard]] virtual Result<std::string> file(const std::string& path) const = 0;

  // The name of a file as a program can open it, from wherever it was started.
  [[nodiscard]] virtual std::string path(const std::string& written) const { return written; }

  // Whether a secret that cannot be had is passed over: where a configuration is checked, but will not run.
  [[nodiscard]] virtual bool may_lack_secrets() const { return false; }
};

}  // namespace semel::reading
