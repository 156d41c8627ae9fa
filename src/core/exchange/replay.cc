#include "exchange/replay.h"

#include <string_view>

#include "exchange/auction.h"
#include "exchange/record.h"
#include "exchange/snapshot.h"
#include "openrtb/padded.h"

namespace spillway::exchange {

void run_again(const Snapshot& snapshot, const Record& record, std::string_view padded_request,
               Auction& auction) {
  Start start = record.start;
  start.body = padded_request;
  start.client_address = record.client_address;
  start.user_agent = record.user_agent;
  auction.start(snapshot, start);
  if (!auction.finished()) {
    auction.admit(record.admitted_at, record.verdicts);
  }
  for (const Record::AnswerInput& answer : record.answers) {
    const openrtb::Padded body(record.body_of(answer));
    auction.on_answer(answer.now, answer.candidate, answer.result, body.view());
  }
  if (record.finished) {
    auction.finish(record.finished_at);
  }
}

ReplyBytes replay(const Snapshot& snapshot, const Record& record, Auction& auction) {
  const openrtb::Padded request(record.request);
  run_again(snapshot, record, request.view(), auction);
  ReplyBytes reply = auction.take_reply();
  auction.reset();
  return reply;
}

}  // namespace spillway::exchange
