#pragma once

#include <string_view>

namespace spillway::exchange::clearing {

/// What a creative's markup looks like.
enum class MarkupKind { kUnknown, kHtml, kVast, kNative };

/// Judges by the first bytes: a VAST or DAAST document, a JSON object of native assets, or
/// something that begins with a tag. Anything else is unknown. Reads at most 512 bytes.
[[nodiscard]] MarkupKind sniff(std::string_view markup);

/// Whether the markup (decoded) loads something over plain http, so that a secure page would show
/// a warning or a hole:
///
/// - HTML: an attribute whose value begins with an http URL (each candidate of a srcset counts),
///   url(...) and @import in style, a string literal in script; not the href of <a> and <area>,
///   which is followed by people only.
/// - VAST and other XML: an element whose text or CDATA begins with an http URL; not ClickThrough.
/// - JSON, native's: a string value that begins with one, or is markup that loads one; not where a
///   click leads (link.url, link.fallback, privacy), nor the text of titles and data.
/// - anything else (bare script): a string literal that begins with one.
///
/// Not found wanting: text, comments, DOCTYPE, namespace declarations, URLs inside a query, names
/// under http://www.w3.org/, "http://" without a host after it. Not seen: URLs put together by
/// script, and ones hidden in character references.
///
/// Cost: linear; one search when there is no "http:" in it.
[[nodiscard]] bool loads_insecurely(std::string_view markup);

/// Whether the raw bytes of a JSON string may mean text with "http:" in it, in any case: they have
/// it as it is, or a "\u" that could hide a letter of it. The cheap question before the dear one.
[[nodiscard]] bool may_mention_http(std::string_view raw);

}  // namespace spillway::exchange::clearing
