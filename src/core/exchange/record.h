#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/call_result.h"
#include "base/result.h"
#include "exchange/auction.h"

namespace spillway::exchange {

/// One auction's inputs in the order they came, and the reply it gave. Encoded as a length-prefixed
/// binary record; instants are relative to time zero, so that records of different boots compare.
///
/// Building one costs the worker a few copies (bounded by the caps of its parts); encoding is done
/// by whoever writes the log.
struct Record {
  uint64_t snapshot_hash = 0;
  Start start;  ///< Its views point into the three strings that follow.
  std::string request;
  std::string client_address;
  std::string user_agent;
  base::Instant admitted_at{};
  std::vector<Verdict> verdicts;

  struct AnswerInput {
    base::Instant now{};
    uint32_t candidate = 0;
    base::CallResult result;
    size_t body_begin = 0;  ///< In `bodies`.
    size_t body_size = 0;
  };

  std::vector<AnswerInput> answers;
  std::string bodies;  ///< Of all answers, one behind the other: one block that is written through.
  base::Instant finished_at{};
  bool finished = false;  ///< finish() was called (not decided by start or admit).
  uint16_t status = 0;
  std::string reply;

  /// Takes what the auction is given, as it is given; nothing else needs to be filled in. Each is
  /// one copy into memory kept from the record before: no allocation after warm-up.
  void take_start(const Snapshot& snapshot, const Start& input);
  void take_admit(base::Instant now, std::span<const Verdict> given);
  void take_answer(base::Instant now, uint32_t candidate, const base::CallResult& result,
                   std::string_view body);
  void take_finish(base::Instant now);
  void take_reply(const ReplyBytes& reply_bytes);

  [[nodiscard]] std::string_view body_of(const AnswerInput& answer) const {
    return std::string_view(bodies).substr(answer.body_begin, answer.body_size);
  }

  /// Forgets all but memory.
  void clear();

 private:
  void forget_auction();  ///< All that does not come with the start.
};

enum class RecordErrc : uint8_t {
  kTruncated,    ///< The entry is longer than the rest of the log.
  kBadMagic,     ///< No entry begins here, or one of another version.
  kBadChecksum,  ///< The entry's bytes changed, or its end was never written.
  kBadValue,     ///< An intact entry that says what none may say.
};

[[nodiscard]] std::string_view to_string(RecordErrc error);

void append_record(std::string& log, const Record& record);
/// A snapshot entry: the configuration text under its hash, once a log.
void append_snapshot(std::string& log, uint64_t hash, std::string_view text);

/// Reads a log's entries in order. Any bytes are safe to read: what is not a whole, intact entry is
/// an error, after which reading goes on with the next entry that begins in what follows (a writer
/// that died inside an entry costs that entry). Memory stays within a small multiple of the log's.
/// `log` must outlive the reader; entries own what they hold.
class RecordReader {
 public:
  explicit RecordReader(std::string_view log) : rest_(log) {}

  struct Entry {
    bool is_snapshot = false;
    uint64_t snapshot_hash = 0;
    std::string snapshot_text;
    Record record;
  };

  [[nodiscard]] bool at_end() const { return rest_.empty(); }

  base::Result<Entry, RecordErrc> next();

 private:
  void skip_to_entry(std::string_view log);

  std::string_view rest_;
};

/// Runs a record's inputs through a fresh auction under `snapshot`; the reply it gives now.
[[nodiscard]] ReplyBytes replay(const Snapshot& snapshot, const Record& record, Auction& auction);

/// Why each DSP was asked or not and each bid won or lost: lines for people, or one JSON object.
[[nodiscard]] std::string explain(const Snapshot& snapshot, const Record& record, bool json);

}  // namespace spillway::exchange
