#include "net/server_codings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "net/address_set.h"
#include "net/buffer_pool.h"
#include "net/gzip.h"
#include "net/http.h"
#include "net/pending_request.h"
#include "net/response_head.h"
#include "net/server.h"
#include "net/server_worker.h"

namespace spillway::net {

uint16_t inflate_body(ServerWorker& worker, std::string_view coding, std::string_view body,
                      BufferRef& buffer, std::string_view& text) {
  ServerCounters& counters = worker.counters;
  const ContentCoding kind = content_coding(coding);
  if (kind == ContentCoding::kOther) {
    counters.bad_request.add();
    return 415;
  }
  if (!looks_gzip(body) && (kind == ContentCoding::kIdentity || body.empty())) {
    return 0;
  }
  auto result = worker.inflater.inflate(body, worker.shared.limits.body_bytes, worker.buffers);
  switch (result.state) {
    case Inflater::State::kDone:
      counters.inflated.add();
      buffer = std::move(result.buffer);
      text = result.text;
      return 0;
    case Inflater::State::kTooLarge:
      counters.gzip_too_large.add();
      counters.body_too_large.add();
      return 413;
    case Inflater::State::kNoBudget:
      counters.over_budget.add();
      return 503;
    case Inflater::State::kBad:
      break;
  }
  counters.gzip_bad.add();
  counters.bad_request.add();
  return 400;
}

void deflate_answer(ServerWorker& worker, const PendingRequest& request, Response& response) {
  if (!worker.shared.listener.gzip || response.body.size() < kGzipFrom ||
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
  std::string packed(worker.deflater.bound(response.body.size()), '\0');
  const size_t size = worker.deflater.compress(response.body, packed.data(), packed.size());
  if (size == 0 || size >= response.body.size()) {
    return;
  }
  packed.resize(size);
  response.body = std::move(packed);
  response.headers.emplace_back("Content-Encoding", "gzip");
  worker.counters.deflated.add();
}

void name_origin(const ListenerSettings& listener, std::string_view origin, Response& response) {
  if (!listener.names_origin || origin.empty()) {
    return;
  }
  response.headers.emplace_back("Access-Control-Allow-Origin", origin);
  response.headers.emplace_back("Access-Control-Allow-Credentials", "true");
  response.headers.emplace_back("Vary", "Origin");
}

void name_client(const AddressSet& forwarders, PendingRequest& pending) {
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
