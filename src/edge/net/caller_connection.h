#pragma once

#include <cstddef>

#include "net/http.h"

namespace spillway::net {

struct PendingRequest;

/// One caller's connection, whichever protocol it speaks, as its worker and its Replies see it.
class CallerConnection {
 public:
  CallerConnection() = default;
  CallerConnection(const CallerConnection&) = delete;
  CallerConnection& operator=(const CallerConnection&) = delete;
  virtual ~CallerConnection() = default;

  /// Ends it now; requests in work are told that their caller is gone. Idempotent.
  virtual void destroy() = 0;
  /// The listener has closed: ends soon once what is in work is answered.
  virtual void hurry() = 0;

  /// A pause of reads is over.
  virtual void resume() {}

  /// `request` has its answer (called by Reply).
  virtual void answer(PendingRequest& request, Response response) = 0;

  /// Place in the worker's list.
  [[nodiscard]] size_t index() const { return index_; }

  void set_index(size_t index) { index_ = index; }

 private:
  size_t index_ = 0;
};

}  // namespace spillway::net
