#include "exchange/notice_device.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "exchange/enrich.h"
#include "exchange/privacy_scrub.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/path_edits.h"

namespace spillway::exchange {

namespace {

using openrtb::Key;

/// The last word on a member of the device: what was filled in, else the caller's; "" for none.
std::string text_of(const openrtb::Document& document, std::span<const openrtb::PathEdit> fill,
                    Key key) {
  const openrtb::Path path{Key::device, key};
  std::string text = document.string(document.path(document.root(), Key::device, key));
  for (const openrtb::PathEdit& edit : fill) {
    if (edit.path == path) {
      const bool is_plain = edit.json.size() >= 2 && !edit.json.contains('\\');
      text = is_plain ? edit.json.substr(1, edit.json.size() - 2) : "";
    }
  }
  return text;
}

}  // namespace

DeviceLines device_lines(const openrtb::Document& document,
                         std::span<const openrtb::PathEdit> fill) {
  std::string lines;
  for (const Key key : {Key::ip, Key::ipv6}) {
    const std::string address = text_of(document, fill, key);
    if (lines.empty() && truncated_ip(address).has_value()) {
      for (const std::string_view name : {"X-Device-IP", "X-Forwarded-For"}) {
        lines.append(name).append(": ").append(address).append("\r\n");
      }
    }
  }
  if (const std::string agent = text_of(document, fill, Key::ua); is_user_agent(agent)) {
    lines.append("X-Device-User-Agent: ").append(agent).append("\r\n");
  }
  return lines.empty() ? nullptr : std::make_shared<const std::string>(std::move(lines));
}

}  // namespace spillway::exchange
