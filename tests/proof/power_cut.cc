// A disk that keeps of a log only what was synced, to be preloaded: what is written to a file *.log waits in memory
// until the file is synced, so that kill -9 loses what a power cut would have lost. Reading a log back before that is
// not done by anybody. Zeros that are laid out ahead (src/store/embedded/prepared_logs.h) come by pwrite, and are left
// alone.
#include <cstdarg>
#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

class Disk {
 public:
  void opened(int file, std::string_view path) {
    if (file < 0 || !path.ends_with(".log")) return;
    const std::scoped_lock lock(mutex_);
    waiting_[file].clear();
  }

  // Whether the bytes wait here; others go their way.
  bool take(int file, const void* bytes, size_t size) {
    const std::scoped_lock lock(mutex_);
    const auto found = waiting_.find(file);
    if (found == waiting_.end()) return false;
    found->second.append(static_cast<const char*>(bytes), size);
    return true;
  }

  void write_out(int file) {
    static auto* const write = real<ssize_t(int, const void*, size_t)>("write");
    const std::scoped_lock lock(mutex_);
    const auto found = waiting_.find(file);
    if (found == waiting_.end()) return;
    for (std::string_view left = found->second; !left.empty();) {
      const ssize_t done = write(file, left.data(), left.size());
      if (done <= 0) break;
      left.remove_prefix(static_cast<size_t>(done));
    }
    found->second.clear();
  }

  void closed(int file) {
    write_out(file);
    const std::scoped_lock lock(mutex_);
    waiting_.erase(file);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<int, std::string> waiting_;
};

Disk& disk() {
  static auto* const one = new Disk;  // outlives whoever writes last
  return *one;
}

int open_by(const char* name, const char* path, int flags, mode_t mode) {
  const int file = real<int(const char*, int, ...)>(name)(path, flags, mode);
  if ((flags & O_ACCMODE) != O_RDONLY) disk().opened(file, path);
  return file;
}

mode_t mode_of(int flags, va_list arguments) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_by("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return open_by("open64", path, flags, mode);
}

ssize_t write(int file, const void* bytes, size_t size) {
  static auto* const written = real<ssize_t(int, const void*, size_t)>("write");
  return disk().take(file, bytes, size) ? static_cast<ssize_t>(size) : written(file, bytes, size);
}

int fdatasync(int file) {
  disk().write_out(file);
  return real<int(int)>("fdatasync")(file);
}

int fsync(int file) {
  disk().write_out(file);
  return real<int(int)>("fsync")(file);
}

int ftruncate64(int file, off64_t size) noexcept {
  disk().write_out(file);
  return real<int(int, off64_t)>("ftruncate64")(file, size);
}

int ftruncate(int file, off_t size) noexcept {
  disk().write_out(file);
  return real<int(int, off_t)>("ftruncate")(file, size);
}

int close(int file) {
  disk().closed(file);
  return real<int(int)>("close")(file);
}
}
