// Arbitrary bytes as a bid request: walk, validation, random edits and macros. The last bytes of
// the input choose the edits.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "openrtb/document.h"
#include "openrtb/edit_list.h"
#include "openrtb/keys.h"
#include "openrtb/macros.h"
#include "openrtb/padded.h"
#include "openrtb/validate.h"

namespace spillway::openrtb {
namespace {

void require(bool condition) {
  if (!condition) {
    std::abort();
  }
}

/// Every span lies in the text, in its parent, and behind what came before it.
void check_table(const Document& d) {
  for (NodeId id = 0; id < d.size(); ++id) {
    const Node& node = d.node(id);
    require(node.begin < node.end && node.end <= d.text().size());
    require(node.key_begin + node.key_length <= node.begin || node.key_length == 0);
    require((id == 0) == (node.parent == kAbsent));
    if (id > 0) {
      const Node& parent = d.node(node.parent);
      require(node.parent < id && parent.begin < node.begin && node.end < parent.end);
      require((parent.kind == Kind::kObject) == (node.key != Key::kNone));
    }
    uint32_t children = 0;
    for (const NodeId child : d.children(id)) {
      require(child > id && d.node(child).parent == id);
      ++children;
    }
    require(children == node.children);
    require(d.raw(id).size() == node.end - node.begin);
    if (node.kind == Kind::kString) {
      std::string literal;
      append_json_string(literal, d.string(id));
      const Padded again(literal);
      Document string;
      require(string.walk(again.view()).has_value() && string.string(0) == d.string(id));
    }
    static_cast<void>(d.integer(id));
    static_cast<void>(d.path_of(id));
  }
}

void check_request(const Document& d) {
  RequestPolicy strict;
  strict.require_inventory = strict.require_site_id_or_page = true;
  strict.require_banner_size = strict.refuse_banner_2_4_sizes = true;
  strict.check_native = strict.refuse_metric = true;
  RequestView view;
  const auto plain = read_request(d, {}, view);
  if (plain) {
    require(!view.id.empty() && !view.imps.empty() && !view.currencies.empty());
    for (const Imp& imp : view.imps) {
      require(imp.node < d.size() && !imp.id.empty() && imp.media != 0 && imp.floor.micros >= 0);
      require(imp.ratios.size() == imp.ratio_wmin.size());
    }
  }
  for (const auto& result : {plain, read_request(d, strict, view)}) {
    if (!result) {
      const Padded text(error_json(result.error()));
      Document error;
      require(error.walk(text.view()).has_value());
    }
  }
}

void check_edits(const Document& d, std::string_view choices) {
  EditList edits(d);
  for (size_t i = 0; i + 2 < choices.size(); i += 3) {
    const auto byte = [&](size_t j) { return static_cast<unsigned char>(choices[i + j]); };
    const auto id = static_cast<NodeId>((byte(1) * 256U + byte(2)) % d.size());
    switch (byte(0) % 5) {
      case 0:
        edits.remove(id);
        break;
      case 1:
        edits.replace(id, "{\"new\":[]}");
        break;
      case 2:
        edits.append(id, "null");
        break;
      case 3:
        edits.set(id, Key::tmax, "1e9");
        break;
      default:
        edits.set(id, "a\"b", "\"\"");
    }
  }
  const Padded text(edits.bytes());
  Document again;
  require(again.walk(text.view()).has_value());
}

void check_macros(const Document& d, std::string_view value) {
  MacroValues values;
  values.auction_id = values.price = value;
  for (NodeId id = 0; id < d.size(); ++id) {
    if (d.kind(id) != Kind::kString) {
      continue;
    }
    for (const MacroContext context : {MacroContext::kUrl, MacroContext::kMarkup}) {
      std::string literal = "\"";
      append_expanded_json(literal, d.raw_string(id), values, context);
      const Padded text(literal + "\"");
      Document string;
      require(string.walk(text.view()).has_value());
      std::string plain;
      append_expanded(plain, d.string(id), values, context);
    }
  }
}

}  // namespace
}  // namespace spillway::openrtb

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace spillway::openrtb;  // NOLINT(google-build-using-namespace)
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view choices = input.substr(size - std::min<size_t>(size, 12));
  const std::string_view body = input.substr(0, size - choices.size());
  for (const std::string_view bytes : {input, body}) {
    const Padded text(bytes);
    Document document(2048);
    if (!document.walk(text.view())) {
      require(document.root() == kAbsent);
      continue;
    }
    check_table(document);
    check_request(document);
    check_edits(document, choices);
    check_macros(document, document.string(document.find(0, Key::id)));
  }
  return 0;
}
