// Notices that a disk is nearly full before a write fails.
#pragma once

#include <cstdint>
#include <filesystem>

#include <semel/result.h>

namespace semel::store::embedded {

class DiskSpace {
 public:
  DiskSpace(std::filesystem::path folder, std::uint64_t free_bytes_min)
      : folder_(std::move(folder)), free_bytes_min_(free_bytes_min) {}

  // Asks the file system, unless there was room when it was last asked. Code::full: less than the floor is free.
  // Code::unavailable: it did not answer.
  [[nodiscard]] Result<void> check();
  // Call this when something is written.
  void ask_again() { had_room_ = false; }

 private:
  std::filesystem::path folder_;
  std::uint64_t free_bytes_min_;
  bool had_room_ = false;
};

}  // namespace semel::store::embedded
