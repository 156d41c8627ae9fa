#pragma once

#include <string>

#include "adapters/catalog_source.h"
#include "app/catalog/problems.h"
#include "bidder/model.h"

namespace spillway::app::catalog {

/// Reads the tables of a folder: advertiser.csv, campaign.csv, campaign_cap.csv, line_item.csv,
/// line_item_value.csv, line_item_radius.csv, creative.csv, each with the names of its columns on
/// the first line. A file that is not there is a table without rows; columns that are not there,
/// and empty fields, have their defaults. The rows are right only when no problem was added.
[[nodiscard]] bidder::CatalogRows read_csv_folder(const std::string& folder,
                                                  FileProblems& problems);

/// Writes all seven, making the folder if need be. Error: one sentence with the path.
adapters::StoreResult<void> write_csv_folder(const std::string& folder,
                                             const bidder::CatalogRows& rows);

}  // namespace spillway::app::catalog
