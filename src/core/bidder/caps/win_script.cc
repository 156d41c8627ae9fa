#include <string_view>

#include "bidder/caps/keys.h"

namespace spillway::bidder::caps {

namespace {

// KEYS: won_key, caps_key. ARGV: seconds a repetition is recognised, now, seconds the counters are
// kept, then three for each counter: field, bucket, buckets. A counter that nobody wrote this way
// is begun anew. From 256 counters on, now and then, those that matter no more are dropped (15 h
// are more than any time zone's offset).
constexpr std::string_view kScript = R"lua(local won, caps = KEYS[1], KEYS[2]
local now, keep = tonumber(ARGV[2]), tonumber(ARGV[3])
if not redis.call('SET', won, '1', 'NX', 'EX', ARGV[1]) then return 0 end
for i = 4, #ARGV, 3 do
  local field, bucket, most = ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])
  local old = redis.call('HGET', caps, field) or ''
  local first = tonumber(string.match(old, '^(%d+):'))
  if first and first > bucket then bucket = first end
  local count, rest = 1, {}
  for b, c in string.gmatch(old, '(%d+):(%d+)') do
    b = tonumber(b)
    if b == bucket then count = count + tonumber(c)
    elseif b > bucket - most then rest[#rest + 1] = string.format(',%d:%s', b, c) end
  end
  redis.call('HSET', caps, field, string.format('%d:%d', bucket, count) .. table.concat(rest))
end
if redis.call('TTL', caps) < keep then redis.call('EXPIRE', caps, keep) end
local size = redis.call('HLEN', caps)
if size >= 256 and size % 64 == 0 then
  local length = {h = 3600, d = 86400, w = 604800, H = 300, D = 7200, W = 50400}
  local all = redis.call('HGETALL', caps)
  for i = 1, #all, 2 do
    local kind = string.sub(all[i], -1)
    local first = tonumber(string.match(all[i + 1], '^(%d+):'))
    local buckets = kind == string.upper(kind) and 13 or 1
    if length[kind] and (not first or (first + buckets) * length[kind] + 54000 < now) then
      redis.call('HDEL', caps, all[i])
    end
  end
end
return 1
)lua";

// SCRIPT LOAD says the same: a test asks it.
constexpr std::string_view kSha1 = "5d75cf3eedaf5afe3d5b7aec5590a3b34af4d088";

}  // namespace

std::string_view win_script() { return kScript; }

std::string_view win_script_sha1() { return kSha1; }

}  // namespace spillway::bidder::caps
