#include <cstddef>
#include <cstdint>
#include <expected>
#include <string_view>
#include <utility>

#include "base/call_result.h"
#include "base/hash.h"
#include "base/result.h"
#include "exchange/auction.h"
#include "exchange/record.h"
#include "exchange/record_bytes.h"
#include "exchange/shed_levels.h"
#include "resilience/guard.h"

namespace spillway::exchange {

namespace {

constexpr size_t kHeadBytes = kRecordMagic.size() + 1 + 4;
constexpr size_t kChecksumBytes = 8;
// Least bytes of one verdict and of one answer, so that counts are bounded by what is there.
constexpr size_t kVerdictBytes = 39;
constexpr size_t kAnswerBytes = 70;

base::CallResult read_result(RecordCursor& in) {
  base::CallResult result;
  result.phase = in.upto<base::CallPhase>(static_cast<uint8_t>(base::CallPhase::kDone));
  result.error = in.upto<base::CallError>(static_cast<uint8_t>(base::CallError::kCancelled));
  result.status = in.u16();
  result.reused = in.flag();
  result.retried = in.flag();
  result.sent_bytes = in.u64();
  result.received_bytes = in.u64();
  result.retry_after = in.duration();
  result.started_at = in.instant();
  result.ended_at = in.instant();
  result.connect_time = in.duration();
  return result;
}

Verdict read_verdict(RecordCursor& in) {
  Verdict verdict;
  verdict.refusal = in.u16();
  verdict.terms.offered = in.duration();
  verdict.terms.fair = in.duration();
  verdict.terms.slow_after = in.duration();
  verdict.terms.how =
      in.upto<resilience::Admitted>(static_cast<uint8_t>(resilience::Admitted::kShadow));
  verdict.terms.epoch = in.u32();
  verdict.network_cost = in.duration();
  return verdict;
}

void read_auction(RecordCursor& in, Record& record) {
  record.snapshot_hash = in.u64();
  record.start.now = in.instant();
  record.start.wall_ms = static_cast<int64_t>(in.u64());
  record.start.seed = in.u64();
  record.start.shed = ShedLevels::of_byte(in.u8());
  record.start.has_origin = in.flag();
  record.start.is_json = in.flag();
  record.client_address.assign(in.bytes());
  record.user_agent.assign(in.bytes());
  record.request.assign(in.bytes());
  record.admitted_at = in.instant();
  const uint32_t verdicts = in.count(kVerdictBytes);
  for (uint32_t i = 0; i < verdicts && in.ok(); ++i) {
    record.verdicts.push_back(read_verdict(in));
  }
  const uint32_t answers = in.count(kAnswerBytes);
  for (uint32_t i = 0; i < answers && in.ok(); ++i) {
    const base::Instant now = in.instant();
    const uint32_t candidate = in.u32();
    const base::CallResult result = read_result(in);
    record.take_answer(now, candidate, result, in.bytes());
  }
  record.finished_at = in.instant();
  record.finished = in.flag();
  record.status = in.u16();
  record.reply.assign(in.bytes());
}

}  // namespace

void RecordReader::skip_to_entry(std::string_view log) {
  const size_t next = log.find(kRecordMagic, 1);
  rest_ = next == std::string_view::npos ? std::string_view{} : log.substr(next);
}

base::Result<RecordReader::Entry, RecordErrc> RecordReader::next() {
  const std::string_view log = std::exchange(rest_, {});
  if (log.substr(0, kRecordMagic.size()) != kRecordMagic.substr(0, log.size())) {
    skip_to_entry(log);
    return std::unexpected(RecordErrc::kBadMagic);
  }
  if (log.size() < kHeadBytes + kChecksumBytes) {
    return std::unexpected(RecordErrc::kTruncated);
  }
  RecordCursor head(log.substr(kRecordMagic.size()));
  const uint8_t kind = head.u8();
  const size_t length = head.u32();
  if (log.size() - kHeadBytes - kChecksumBytes < length) {
    skip_to_entry(log);
    return std::unexpected(RecordErrc::kTruncated);
  }
  const size_t end = kHeadBytes + length;
  rest_ = log.substr(end + kChecksumBytes);
  const std::string_view hashed = log.substr(kRecordMagic.size(), end - kRecordMagic.size());
  if (RecordCursor(log.substr(end)).u64() != base::hash64(hashed)) {
    // A torn entry's length leads into the middle of what was written after it.
    if (!rest_.empty() && !rest_.starts_with(kRecordMagic)) {
      skip_to_entry(log);
    }
    return std::unexpected(RecordErrc::kBadChecksum);
  }

  Entry entry;
  RecordCursor in(log.substr(kHeadBytes, length));
  if (kind == static_cast<uint8_t>(EntryKind::kSnapshot)) {
    entry.is_snapshot = true;
    entry.snapshot_hash = in.u64();
    entry.snapshot_text.assign(in.bytes());
  } else if (kind == static_cast<uint8_t>(EntryKind::kAuction)) {
    read_auction(in, entry.record);
    entry.snapshot_hash = entry.record.snapshot_hash;
  } else {
    return std::unexpected(RecordErrc::kBadValue);
  }
  if (!in.ok() || in.left() != 0) {
    return std::unexpected(RecordErrc::kBadValue);
  }
  return entry;
}

}  // namespace spillway::exchange
