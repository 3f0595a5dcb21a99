// Counts allocations and copies of a process that it is preloaded into (bench/budget.py), in a file that others can
// map.
//
// Small copies that the compiler wrote out are not seen, nor those of the kernel.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace {

struct Counts {
  std::atomic<std::uint64_t> allocations;
  std::atomic<std::uint64_t> allocated_bytes;
  std::atomic<std::uint64_t> copies;
  std::atomic<std::uint64_t> copied_bytes;
};

Counts nowhere;
Counts* counts = &nowhere;  // until the file is there

__attribute__((constructor)) void open_counts() {
  const char* const path = std::getenv("SEMEL_COUNTS");
  const int file = path == nullptr ? -1 : ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ::ftruncate(file, sizeof(Counts)) != 0) return;
  void* const mapped = ::mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped != MAP_FAILED) counts = static_cast<Counts*>(mapped);
  ::close(file);
}

template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

void note_allocation(std::size_t size) {
  counts->allocations.fetch_add(1, std::memory_order_relaxed);
  counts->allocated_bytes.fetch_add(size, std::memory_order_relaxed);
}

void note_copy(std::size_t size) {
  counts->copies.fetch_add(1, std::memory_order_relaxed);
  counts->copied_bytes.fetch_add(size, std::memory_order_relaxed);
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) {
  static auto* const real = next<void*(std::size_t)>("malloc");
  note_allocation(size);
  return real(size);
}

void* realloc(void* old, std::size_t size) {
  static auto* const real = next<void*(void*, std::size_t)>("realloc");
  note_allocation(size);
  return real(old, size);
}

int posix_memalign(void** place, std::size_t alignment, std::size_t size) {
  static auto* const real = next<int(void**, std::size_t, std::size_t)>("posix_memalign");
  note_allocation(size);
  return real(place, alignment, size);
}

// Copied here, byte by byte: the real one may not be found yet when the first of them is called.
void* memcpy(void* __restrict to, const void* __restrict from, std::size_t size) {
  note_copy(size);
  void* const result = to;
  __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
  return result;
}

void* memmove(void* to, const void* from, std::size_t size) {
  note_copy(size);
  auto* into = static_cast<volatile char*>(to);
  const auto* out_of = static_cast<const char*>(from);
  if (into <= out_of || into >= out_of + size) {
    void* forward = to;
    __asm__ volatile("rep movsb" : "+D"(forward), "+S"(from), "+c"(size) : : "memory");
    return to;
  }
  while (size-- > 0) into[size] = out_of[size];
  return to;
}

}  // extern "C"

// An allocator with operators of its own does not come by malloc.
void* operator new(std::size_t size) {
  static auto* const real = next<void*(std::size_t)>("_Znwm");
  note_allocation(size);
  return real(size);
}
