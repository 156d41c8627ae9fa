#pragma once

#include <string>
#include <string_view>

#include "app/config/url.h"
#include "base/result.h"

namespace spillway::app {

/// The sum of all samples of a family in Prometheus's text format; 0 when there is none.
[[nodiscard]] double sum_of_metric(std::string_view page, std::string_view family);

/// GETs a page over plain HTTP, within 2 s. Blocks. The error is one sentence.
[[nodiscard]] base::Result<std::string, std::string> fetch_page(const HttpUrl& url);

}  // namespace spillway::app
