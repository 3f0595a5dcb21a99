// The program's own aligned_alloc(): docs/adr/0009-allocator.md.
//
// Asio allocates coroutine frames with it, for an alignment that malloc() has anyway. jemalloc's version takes its slow
// path whatever the alignment. Blocks are freed with free(), as ever.
#include <cstddef>

#include <stdlib.h>  // not <cstdlib>: posix_memalign is not C++

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  // malloc() aligns for every object that fits into the block.
  if (alignment <= alignof(std::max_align_t) && size >= alignment) return malloc(size);
  void* block = nullptr;
  return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
}
