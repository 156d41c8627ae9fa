#include <utility>

#include "net/http.h"
#include "net/server.h"
#include "observe/admin.h"

namespace spillway::observe {

void answer_admin(const AdminHooks& hooks, const net::Request& request, net::Reply reply) {
  // Made before send(): the request's views die with it.
  net::Response response = admin_response(hooks, request);
  reply.send(std::move(response));
}

}  // namespace spillway::observe
