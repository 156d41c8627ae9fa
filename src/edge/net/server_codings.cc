// What ServerConnection does about content codings, and who a request is from.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "net/address_set.h"
#include "net/buffer_pool.h"
#include "net/gzip.h"
#include "net/http.h"
#include "net/http_parser.h"
#include "net/pending_request.h"
#include "net/response_head.h"
#include "net/server.h"
#include "net/server_connection.h"
#include "net/server_worker.h"

namespace spillway::net {

/// Sets `text` to the plain body; false when the request was refused instead. A body that begins
/// like gzip is gzip, whatever the headers say: browsers' libraries send it without one.
bool ServerConnection::inflate_body(std::string_view coding, std::string_view body,
                                    BufferRef& buffer, std::string_view& text) {
  const ContentCoding kind = content_coding(coding);
  if (kind == ContentCoding::kOther) {
    worker_.counters.bad_request.add();
    refuse(415);
    return false;
  }
  if (!looks_gzip(body) && (kind == ContentCoding::kIdentity || body.empty())) {
    return true;
  }
  auto result = worker_.inflater.inflate(body, worker_.shared.limits.body_bytes, worker_.buffers);
  switch (result.state) {
    case Inflater::State::kDone:
      worker_.counters.inflated.add();
      buffer = std::move(result.buffer);
      text = result.text;
      return true;
    case Inflater::State::kTooLarge:
      worker_.counters.gzip_too_large.add();
      refuse(ParseError::kBodyTooLarge);
      return false;
    case Inflater::State::kNoBudget:
      worker_.counters.over_budget.add();
      refuse(503);
      return false;
    case Inflater::State::kBad:
      worker_.counters.gzip_bad.add();
      refuse(ParseError::kBadFraming);
      return false;
  }
  return false;
}

void ServerConnection::deflate_answer(const PendingRequest& request, Response& response) {
  if (!worker_.shared.listener.gzip || response.body.size() < kGzipFrom ||
      bodyless(response.status)) {
    return;
  }
  for (const auto& [name, value] : response.headers) {
    if (same_name(name, "Content-Encoding")) {
      return;
    }
  }
  response.headers.emplace_back("Vary", "Accept-Encoding");
  if (!request.takes_gzip) {
    return;
  }
  std::string packed(worker_.deflater.bound(response.body.size()), '\0');
  const size_t size = worker_.deflater.compress(response.body, packed.data(), packed.size());
  if (size == 0 || size >= response.body.size()) {
    return;
  }
  packed.resize(size);
  response.body = std::move(packed);
  response.headers.emplace_back("Content-Encoding", "gzip");
  worker_.counters.deflated.add();
}

/// Reads X-Forwarded-For from its end while those named there are forwarders themselves.
void ServerConnection::name_client(PendingRequest& pending) const {
  if (!peer_forwards_) {
    return;
  }
  const AddressSet& forwarders = worker_.shared.listener.forwarders;
  for (auto header = pending.headers.rbegin(); header != pending.headers.rend(); ++header) {
    if (!same_name(header->name, "X-Forwarded-For")) {
      continue;
    }
    std::string_view list = header->value;
    while (!list.empty()) {
      const size_t comma = list.rfind(',');
      std::string_view item = comma == std::string_view::npos ? list : list.substr(comma + 1);
      list = comma == std::string_view::npos ? std::string_view{} : list.substr(0, comma);
      item.remove_prefix(std::min(item.find_first_not_of(" \t"), item.size()));
      item = item.substr(0, item.find_last_not_of(" \t") + 1);
      const auto address = parse_ip(item);
      if (!address) {
        return;  // what stands before it was not written by one we trust
      }
      pending.request.client_address = item;
      if (!forwarders.contains(*address)) {
        return;
      }
    }
  }
}

}  // namespace spillway::net
