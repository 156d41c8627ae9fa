#include "bidder/row_order.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "bidder/model.h"

namespace spillway::bidder {

namespace {

template <typename Row>
void sort_by_id(std::vector<Row>& rows) {
  std::ranges::stable_sort(rows, {}, &Row::id);
}

void sort_set(std::vector<std::string>& values) {
  std::ranges::sort(values);
  const auto rest = std::ranges::unique(values);
  values.erase(rest.begin(), rest.end());
}

}  // namespace

void put_in_order(CatalogRows& rows) {
  sort_by_id(rows.advertisers);
  sort_by_id(rows.campaigns);
  sort_by_id(rows.line_items);
  sort_by_id(rows.creatives);
  for (Campaign& campaign : rows.campaigns) {
    std::ranges::sort(campaign.caps, {}, [](const Cap& cap) {
      return std::tuple(cap.scope, cap.window, cap.kind, cap.most);
    });
  }
  for (LineItem& item : rows.line_items) {
    for (Lists& lists : item.targeting.lists) {
      sort_set(lists.include);
      sort_set(lists.exclude);
    }
    std::ranges::sort(item.targeting.radii, {}, [](const Radius& radius) {
      return std::tuple(radius.exclude, radius.lat, radius.lon, radius.km);
    });
  }
}

}  // namespace spillway::bidder
