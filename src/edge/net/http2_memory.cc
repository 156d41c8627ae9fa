#include "net/http2_memory.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>

#include <malloc.h>

#include "net/buffer_pool.h"

namespace spillway::net {

/// nghttp2's allocator. Sizes are the allocator's own, so that free() needs no header of ours.
struct Http2Memory::Functions {
  static Http2Memory& self(void* user) { return *static_cast<Http2Memory*>(user); }

  static bool admit(Http2Memory& memory, size_t bytes) {
    memory.exhausted_ = memory.exhausted_ || memory.bytes_ + bytes > memory.cap_;
    return !memory.exhausted_;
  }

  static size_t counted(const Http2Memory& memory) {
    return memory.bytes_ - std::min(memory.bytes_, memory.idle_);
  }

  static void* count(Http2Memory& memory, void* block) {
    const size_t before = counted(memory);
    memory.bytes_ += ::malloc_usable_size(block);
    memory.budget_.charge(counted(memory) - before);
    return block;
  }

  static void uncount(Http2Memory& memory, void* block) {
    const size_t before = counted(memory);
    memory.bytes_ -= ::malloc_usable_size(block);
    memory.budget_.discharge(before - counted(memory));
  }

  static void* allocate(size_t size, void* user) {
    return admit(self(user), size) ? count(self(user), std::malloc(size)) : nullptr;
  }

  static void* allocate_zeros(size_t items, size_t size, void* user) {
    return admit(self(user), items * size) ? count(self(user), std::calloc(items, size)) : nullptr;
  }

  static void* resize(void* block, size_t size, void* user) {
    if (!admit(self(user), size)) {
      return nullptr;
    }
    uncount(self(user), block);
    void* const moved = std::realloc(block, size);
    count(self(user), moved != nullptr ? moved : block);
    return moved;
  }

  static void release(void* block, void* user) {
    uncount(self(user), block);
    std::free(block);
  }
};

Http2Memory::Http2Memory(BufferPool& budget, size_t cap, size_t idle)
    : budget_(budget),
      cap_(cap),
      idle_(idle),
      native_{.mem_user_data = this,
              .malloc = &Functions::allocate,
              .free = &Functions::release,
              .calloc = &Functions::allocate_zeros,
              .realloc = &Functions::resize} {}

}  // namespace spillway::net
