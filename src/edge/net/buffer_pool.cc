#include "net/buffer_pool.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include "net/http.h"

namespace spillway::net {

BufferRef& BufferRef::operator=(BufferRef&& other) noexcept {
  if (this != &other) {
    reset();
    buffer_ = std::exchange(other.buffer_, nullptr);
  }
  return *this;
}

void BufferRef::reset() {
  Buffer* const buffer = std::exchange(buffer_, nullptr);
  if (buffer == nullptr || --buffer->references != 0) {
    return;
  }
  if (buffer->pool != nullptr) {
    buffer->pool->give_back(buffer);
  } else {
    ::operator delete(buffer);
  }
}

BufferRef BufferRef::share() const {
  ++buffer_->references;
  return BufferRef(buffer_);
}

void BufferRef::orphan() {
  if (buffer_ != nullptr && buffer_->pool != nullptr) {
    buffer_->pool->bytes_ -= buffer_->capacity;
    buffer_->pool = nullptr;
  }
}

BufferPool::~BufferPool() {
  for (Buffer* const buffer : free_) {
    ::operator delete(buffer);
  }
}

BufferRef BufferPool::take(size_t capacity) {
  capacity = std::max(capacity, kBlock);
  if (bytes_ + capacity > budget_) {
    return {};
  }
  bytes_ += capacity;
  if (capacity == kBlock && !free_.empty()) {
    Buffer* const buffer = free_.back();
    free_.pop_back();
    buffer->references = 1;
    return BufferRef(buffer);
  }
  void* const memory = ::operator new(sizeof(Buffer) + capacity + kBodyPadding);
  auto* const buffer = new (memory) Buffer{.pool = this, .capacity = capacity, .references = 1};
  std::memset(buffer->data() + capacity, 0, kBodyPadding);
  return BufferRef(buffer);
}

void BufferPool::give_back(Buffer* buffer) {
  bytes_ -= buffer->capacity;
  if (buffer->capacity == kBlock && free_.size() < kKept) {
    free_.push_back(buffer);
  } else {
    ::operator delete(buffer);
  }
}

}  // namespace spillway::net
