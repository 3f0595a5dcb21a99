// Reads one table of the configuration, key by key.
//
// The reader is the only list of what a file may say: a key is known because it was asked for, and finish() reports
// every other one as an error. A value that is wrong is reported and leaves its target as it was, so the rest of the
// table is read all the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reading/document.h"
#include "reading/fault.h"
#include "reading/issue.h"
#include "reading/report.h"
#include "reading/resolver.h"

namespace semel::reading {

// One key that the reader knows: its value in the file, and its default. For `semel check` and for the test that holds
// conf/semel.toml to the code.
struct KeyUse {
  std::string table;  // "server", "server.tls", "upstream.*", "route"
  std::string key;
  std::string default_value;  // as TOML; empty if there is none
  std::string value;          // as TOML; secrets are not shown
  bool present = false;
};

// A file that the configuration names, and where: to be looked at before it is used.
struct NamedFile {
  std::string option;  // "server.tls.cert"
  std::string path;
  Position at;
};

// What one run over a file carries along.
struct Reading {
  Report report;
  const Resolver* resolver;
  std::vector<KeyUse> uses;
  std::vector<NamedFile> files{};
};

class TableReader {
 public:
  // A null table is one that the file does not have: every key keeps its default. `name` is its name in the survey.
  TableReader(Reading& reading, const Node* table, std::string name);

  // The value of `key`, or null. The key is known from now on.
  const Node* find(std::string_view key);
  // As find(); absence is an error.
  const Node* require(std::string_view key);

  // The value of `key` is wrong: reported at `at`. Rules that involve it are skipped: see good().
  void reject(std::string_view key, Position at, std::string_view message, std::string_view suggestion = {});
  void reject(std::string_view key, const Node& value, const Fault& fault);
  // The value of `key` cannot be had here, which is no mistake: rules that involve it are skipped.
  void pass_over(std::string_view key) { bad_.emplace_back(key); }
  // False if `value` is not of the kind wanted, which has been reported.
  bool expect(std::string_view key, const Node& value, NodeKind wanted);

  void warn(std::string_view key, std::string_view message);
  void record(std::string_view key, std::string default_value, std::string value);

  [[nodiscard]] bool good(std::string_view key) const;
  [[nodiscard]] bool has(std::string_view key) const { return table_ != nullptr && table_->find(key) != nullptr; }
  // Of the value of `key`, or of the table where it has none.
  [[nodiscard]] Position at(std::string_view key) const;
  [[nodiscard]] Reading& reading() { return *reading_; }

  // Reports the keys that were not asked for. To be called last.
  void finish();

 private:
  Reading* reading_;
  const Node* table_;
  std::string name_;
  std::vector<std::string> known_;
  std::vector<std::string> bad_;
};

}  // namespace semel::reading
