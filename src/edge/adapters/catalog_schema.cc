#include "adapters/catalog_schema.h"

#include <array>
#include <span>
#include <string_view>

namespace spillway::adapters {

namespace {

constexpr std::array<std::string_view, 8> kTables{
    R"sql(CREATE TABLE advertiser (
      id BIGINT PRIMARY KEY CHECK (id > 0),
      name TEXT NOT NULL DEFAULT '',
      domain TEXT NOT NULL,
      categories TEXT NOT NULL DEFAULT '',
      time_zone TEXT NOT NULL DEFAULT 'UTC',
      status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'archived'))))sql",
    R"sql(CREATE TABLE campaign (
      id BIGINT PRIMARY KEY CHECK (id > 0),
      advertiser BIGINT NOT NULL REFERENCES advertiser (id) ON DELETE CASCADE,
      name TEXT NOT NULL DEFAULT '',
      status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'archived')),
      start_s BIGINT,
      end_s BIGINT,
      currency TEXT NOT NULL DEFAULT 'USD',
      goal TEXT NOT NULL DEFAULT 'cpm' CHECK (goal IN ('cpm', 'cpc', 'cpa')),
      goal_value_micros BIGINT NOT NULL DEFAULT 0,
      most_cpm_micros BIGINT NOT NULL,
      margin_ratio DOUBLE PRECISION NOT NULL DEFAULT 0,
      daily_micros BIGINT NOT NULL DEFAULT 0,
      lifetime_micros BIGINT NOT NULL DEFAULT 0,
      pacing TEXT NOT NULL DEFAULT 'even' CHECK (pacing IN ('even', 'front_loaded', 'asap')),
      cap_failure TEXT NOT NULL DEFAULT 'strict' CHECK (cap_failure IN ('strict', 'open'))))sql",
    R"sql(CREATE TABLE campaign_cap (
      campaign BIGINT NOT NULL REFERENCES campaign (id) ON DELETE CASCADE,
      scope TEXT NOT NULL CHECK (scope IN ('campaign', 'creative', 'advertiser')),
      period TEXT NOT NULL CHECK (period IN ('hour', 'day', 'week', 'lifetime')),
      kind TEXT NOT NULL DEFAULT 'calendar' CHECK (kind IN ('calendar', 'sliding')),
      most BIGINT NOT NULL CHECK (most >= 0),
      PRIMARY KEY (campaign, scope, period, kind)))sql",
    R"sql(CREATE TABLE line_item (
      id BIGINT PRIMARY KEY CHECK (id > 0),
      campaign BIGINT NOT NULL REFERENCES campaign (id) ON DELETE CASCADE,
      status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'archived')),
      start_s BIGINT,
      end_s BIGINT,
      hours TEXT))sql",
    R"sql(CREATE TABLE line_item_value (
      line_item BIGINT NOT NULL REFERENCES line_item (id) ON DELETE CASCADE,
      dimension TEXT NOT NULL,
      side TEXT NOT NULL DEFAULT 'include' CHECK (side IN ('include', 'exclude')),
      value TEXT NOT NULL,
      PRIMARY KEY (line_item, dimension, side, value)))sql",
    R"sql(CREATE TABLE line_item_radius (
      line_item BIGINT NOT NULL REFERENCES line_item (id) ON DELETE CASCADE,
      lat DOUBLE PRECISION NOT NULL,
      lon DOUBLE PRECISION NOT NULL,
      km DOUBLE PRECISION NOT NULL,
      side TEXT NOT NULL DEFAULT 'include' CHECK (side IN ('include', 'exclude')),
      PRIMARY KEY (line_item, lat, lon, km, side)))sql",
    R"sql(CREATE TABLE creative (
      id BIGINT PRIMARY KEY CHECK (id > 0),
      line_item BIGINT NOT NULL REFERENCES line_item (id) ON DELETE CASCADE,
      status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'archived')),
      media TEXT NOT NULL CHECK (media IN ('banner', 'video', 'audio', 'native')),
      w INTEGER NOT NULL DEFAULT 0,
      h INTEGER NOT NULL DEFAULT 0,
      duration_s INTEGER NOT NULL DEFAULT 0,
      mime TEXT NOT NULL DEFAULT '',
      markup TEXT NOT NULL,
      click_url TEXT NOT NULL DEFAULT '',
      attributes TEXT NOT NULL DEFAULT '',
      apis TEXT NOT NULL DEFAULT '',
      protocols TEXT NOT NULL DEFAULT '',
      language TEXT NOT NULL DEFAULT '',
      secure INTEGER NOT NULL DEFAULT 1 CHECK (secure IN (0, 1))))sql",
    R"sql(CREATE TABLE catalog_written (
      writes BIGINT NOT NULL,
      written_s BIGINT NOT NULL))sql",
};

// So that a parent's rows are found when it is deleted or looked at.
constexpr std::array<std::string_view, 3> kIndexes{
    "CREATE INDEX campaign_by_advertiser ON campaign (advertiser)",
    "CREATE INDEX line_item_by_campaign ON line_item (campaign)",
    "CREATE INDEX creative_by_line_item ON creative (line_item)",
};

constexpr std::array<Migration, 2> kMigrations{{
    {1, "tables", kTables},
    {2, "indexes by parent", kIndexes},
}};

}  // namespace

std::span<const Migration> catalog_migrations() { return kMigrations; }

}  // namespace spillway::adapters
