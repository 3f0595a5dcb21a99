#include "store/embedded/engine_log.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <rocksdb/env.h>

namespace semel::store::embedded {

EngineLog::EngineLog(const std::filesystem::path& folder) : rocksdb::Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {
  std::error_code ignored;
  std::filesystem::rename(folder / "LOG", folder / "LOG.old", ignored);
  file_ = ::open((folder / "LOG").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
}

EngineLog::~EngineLog() {
  if (file_ >= 0) ::close(file_);
}

void EngineLog::Logv(const char* format, std::va_list arguments) {
  std::array<char, 1024> line;
  const int wanted = std::vsnprintf(line.data(), line.size() - 1, format, arguments);
  if (file_ < 0 || wanted < 0) return;
  std::size_t size = std::min(static_cast<std::size_t>(wanted), line.size() - 2);
  line[size++] = '\n';
  if (written_.fetch_add(size) + size > bytes_max) return;
  if (::write(file_, line.data(), size) < 0) return;  // there is nobody to tell
}

}  // namespace semel::store::embedded
