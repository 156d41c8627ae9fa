#include "workload/broken_request.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/rng.h"

namespace spillway::workload {

std::string broken_request(std::string text, base::Rng& rng) {
  constexpr uint64_t kWays = 5;
  switch (rng.below(kWays)) {
    case 0:
      text.resize(1 + rng.below(text.size() - 1));
      return text;
    case 1:
      return text + "}";
    case 2:
      text.insert(text.size() - 1, ",\"note\":\"\xff\"");
      return text;
    case 3: {
      constexpr std::string_view kImp = R"("imp":[)";
      const size_t imp = text.find(kImp);
      return imp == std::string::npos ? "{}" : text.substr(0, imp + kImp.size()) + "]}";
    }
    default:
      return "[" + text + "]";
  }
}

}  // namespace spillway::workload
