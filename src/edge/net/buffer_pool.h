#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace spillway::net {

class BufferPool;

/// A block of bytes shared by its BufferRefs; kBodyPadding readable bytes follow its capacity.
struct Buffer {
  BufferPool* pool;  ///< Null once the pool is gone.
  size_t capacity;
  uint32_t references;

  char* data() { return reinterpret_cast<char*>(this + 1); }
};

/// Counted reference to a Buffer. The count is plain: one thread.
class BufferRef {
 public:
  BufferRef() = default;

  explicit BufferRef(Buffer* buffer) : buffer_(buffer) {}

  BufferRef(BufferRef&& other) noexcept : buffer_(std::exchange(other.buffer_, nullptr)) {}

  BufferRef& operator=(BufferRef&& other) noexcept;

  ~BufferRef() { reset(); }

  void reset();
  [[nodiscard]] BufferRef share() const;

  /// The block outlives its pool and is freed instead of going back.
  void orphan();

  [[nodiscard]] bool shared() const { return buffer_->references > 1; }

  [[nodiscard]] char* data() const { return buffer_->data(); }

  [[nodiscard]] size_t capacity() const { return buffer_->capacity; }

  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

/// Buffers of one worker under one budget. Blocks of kBlock are kept for reuse (up to 4 MiB),
/// larger ones come from the heap. One thread owns it; it must outlive no Buffer that is not
/// orphaned.
class BufferPool {
 public:
  static constexpr size_t kBlock = 8 * 1024;

  explicit BufferPool(size_t budget) : budget_(budget) {}

  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool();

  /// A buffer of at least `capacity`; empty when the budget is exhausted.
  [[nodiscard]] BufferRef take(size_t capacity = kBlock);

  /// Bytes held elsewhere that count against the budget. Never refused: answers must go out.
  void charge(size_t bytes) { bytes_ += bytes; }

  void discharge(size_t bytes) { bytes_ -= bytes; }

  [[nodiscard]] size_t bytes() const { return bytes_; }

 private:
  friend class BufferRef;
  static constexpr size_t kKept = 512;

  void give_back(Buffer* buffer);

  size_t budget_;
  size_t bytes_ = 0;
  std::vector<Buffer*> free_;
};

}  // namespace spillway::net
