#include "exchange/record.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_result.h"
#include "base/hash.h"
#include "base/time.h"
#include "exchange/auction.h"
#include "exchange/record_bytes.h"
#include "exchange/snapshot.h"

namespace spillway::exchange {

namespace {

void append_result(RecordWriter& out, const base::CallResult& result) {
  out.u8(static_cast<uint8_t>(result.phase));
  out.u8(static_cast<uint8_t>(result.error));
  out.u16(result.status);
  out.flag(result.reused);
  out.flag(result.retried);
  out.u64(result.sent_bytes);
  out.u64(result.received_bytes);
  out.duration(result.retry_after);
  out.instant(result.started_at);
  out.instant(result.ended_at);
  out.duration(result.connect_time);
}

void append_verdict(RecordWriter& out, const Verdict& verdict) {
  out.u16(verdict.refusal);
  out.duration(verdict.terms.offered);
  out.duration(verdict.terms.fair);
  out.duration(verdict.terms.slow_after);
  out.u8(static_cast<uint8_t>(verdict.terms.how));
  out.u32(verdict.terms.epoch);
  out.duration(verdict.network_cost);
}

void append_payload(RecordWriter& out, const Record& record) {
  out.u64(record.snapshot_hash);
  out.instant(record.start.now);
  out.u64(static_cast<uint64_t>(record.start.wall_ms));
  out.u64(record.start.seed);
  out.u8(record.start.shed.byte());
  out.flag(record.start.has_origin);
  out.flag(record.start.is_json);
  out.bytes(record.client_address);
  out.bytes(record.user_agent);
  out.bytes(record.request);
  out.instant(record.admitted_at);
  out.u32(static_cast<uint32_t>(record.verdicts.size()));
  for (const Verdict& verdict : record.verdicts) {
    append_verdict(out, verdict);
  }
  out.u32(static_cast<uint32_t>(record.answers.size()));
  for (const Record::AnswerInput& answer : record.answers) {
    out.instant(answer.now);
    out.u32(answer.candidate);
    append_result(out, answer.result);
    out.bytes(record.body_of(answer));
  }
  out.instant(record.finished_at);
  out.flag(record.finished);
  out.u16(record.status);
  out.bytes(record.reply);
}

/// Frames what `payload` appends as one entry.
template <typename Payload>
void append_entry(std::string& log, EntryKind kind, base::Instant time_zero, Payload payload) {
  log += kRecordMagic;
  const size_t kind_at = log.size();
  RecordWriter out(log, time_zero);
  out.u8(static_cast<uint8_t>(kind));
  const size_t length_at = log.size();
  out.u32(0);
  payload(out);
  const auto length = static_cast<uint32_t>(log.size() - length_at - 4);
  for (size_t i = 0; i < 4; ++i) {
    log[length_at + i] = static_cast<char>(length >> (8 * i));
  }
  out.u64(base::hash64(std::string_view(log).substr(kind_at)));
}

}  // namespace

std::string_view to_string(RecordErrc error) {
  switch (error) {
    case RecordErrc::kTruncated:
      return "the log ends inside an entry";
    case RecordErrc::kBadMagic:
      return "no entry of a known version begins here";
    case RecordErrc::kBadChecksum:
      return "the entry's checksum does not match its bytes";
    case RecordErrc::kBadValue:
      return "the entry holds a value outside its range";
  }
  return "";
}

void Record::take_start(const Snapshot& snapshot, const Start& input) {
  forget_auction();
  snapshot_hash = snapshot.hash;
  start = input;
  request.assign(input.body);
  client_address.assign(input.client_address);
  user_agent.assign(input.user_agent);
  start.body = request;
  start.client_address = client_address;
  start.user_agent = user_agent;
}

void Record::take_admit(base::Instant now, std::span<const Verdict> given) {
  admitted_at = now;
  verdicts.assign(given.begin(), given.end());
}

void Record::take_answer(base::Instant now, uint32_t candidate, const base::CallResult& result,
                         std::string_view body) {
  // Made where it stays: a copy of it is half of what an answer without a body costs.
  answers.emplace_back(now, candidate, result, bodies.size(), body.size());
  if (!body.empty()) {
    bodies.append(body);
  }
}

void Record::take_finish(base::Instant now) {
  finished_at = now;
  finished = true;
}

void Record::take_reply(const ReplyBytes& reply_bytes) {
  status = reply_bytes.status;
  reply.assign(reply_bytes.body);
}

void Record::forget_auction() {
  admitted_at = finished_at = {};
  verdicts.clear();
  answers.clear();
  bodies.clear();
  finished = false;
  status = 0;
  reply.clear();
}

void Record::clear() {
  forget_auction();
  snapshot_hash = 0;
  start = {};
  request.clear();
  client_address.clear();
  user_agent.clear();
}

void append_record(std::string& log, const Record& record) {
  append_entry(log, EntryKind::kAuction, record.start.time_zero,
               [&](RecordWriter& out) { append_payload(out, record); });
}

void append_snapshot(std::string& log, uint64_t hash, std::string_view text) {
  append_entry(log, EntryKind::kSnapshot, {}, [&](RecordWriter& out) {
    out.u64(hash);
    out.bytes(text);
  });
}

}  // namespace spillway::exchange
