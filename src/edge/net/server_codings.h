#pragma once

#include <cstdint>
#include <string_view>

#include "net/address_set.h"
#include "net/buffer_pool.h"
#include "net/http.h"
#include "net/pending_request.h"

namespace spillway::net {

class ServerWorker;
struct ListenerSettings;

/// Sets `text` to the plain body, in `buffer` if it came compressed, and returns 0; else counts why
/// not and returns the status to refuse with. A body that begins like gzip is gzip, whatever the
/// headers say: browsers' libraries send it without one.
[[nodiscard]] uint16_t inflate_body(ServerWorker& worker, std::string_view coding,
                                    std::string_view body, BufferRef& buffer,
                                    std::string_view& text);

/// Compresses the body where the listener, the caller and its size are for it.
void deflate_answer(ServerWorker& worker, const PendingRequest& request, Response& response);

/// Lets the page at `origin` read a refusal, where the listener names origins and there is one.
void name_origin(const ListenerSettings& listener, std::string_view origin, Response& response);

/// Who asks through a trusted forwarder: reads X-Forwarded-For from its end while those named there
/// are forwarders themselves.
void name_client(const AddressSet& forwarders, PendingRequest& pending);

}  // namespace spillway::net
