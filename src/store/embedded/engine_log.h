// The engine's own log, which must never end the process.
//
// RocksDB's logger aborts when its file cannot be written, as on a full disk. This one keeps the warnings of the
// current run, up to a bound, and drops the rest.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <filesystem>

#include <rocksdb/env.h>

namespace semel::store::embedded {

class EngineLog : public rocksdb::Logger {
 public:
  static constexpr std::size_t bytes_max = 1U << 20U;

  // Writes to `folder`/LOG; the log of the last run stays as LOG.old. If it cannot be opened, nothing is logged.
  explicit EngineLog(const std::filesystem::path& folder);
  ~EngineLog() override;
  EngineLog(const EngineLog&) = delete;
  EngineLog& operator=(const EngineLog&) = delete;

  using rocksdb::Logger::Logv;
  [[gnu::format(printf, 2, 0)]] void Logv(const char* format, std::va_list arguments) override;
  void LogHeader(const char* /*format*/, std::va_list /*arguments*/) override {
  }  // options and versions, at every start

 private:
  int file_;
  std::atomic<std::size_t> written_{0};
};

}  // namespace semel::store::embedded
