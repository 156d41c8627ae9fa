#include "capacity/replay.h"

#include <string>
#include <utility>

#include "capacity/law.h"
#include "capacity/reading.h"
#include "capacity/sample.h"
#include "capacity/zone_view.h"

namespace spillway::capacity {

Orders orders_of(const Sample& recorded) {
  return {.draining = recorded.state == ServerState::kDraining,
          .warming = recorded.state == ServerState::kWarming,
          .pin = recorded.state == ServerState::kFrozen ? recorded.weight : 0};
}

Replay::Replay(Settings settings) : settings_(std::move(settings)), view_(settings_.view) {}

const Decision* Replay::on_sample(const Sample& recorded) {
  const auto now = recorded.taken_at;
  while (!under_way_.empty() && under_way_.front().taken_at < now &&
         under_way_.front().taken_at + settings_.publish_delay <= now) {
    (void)view_.put(now, under_way_.front());  // Refusals are those of the run.
    under_way_.pop_front();
  }
  if (!laws_.contains(recorded.id) && laws_.size() >= settings_.view.max_servers) {
    return nullptr;
  }
  last_ = law_of(recorded).step(now, reading_of(recorded), orders_of(recorded), view_);
  under_way_.push_back(recorded);
  return &last_;
}

Law& Replay::law_of(const Sample& recorded) {
  Identity self{.id = recorded.id,
                .zone = recorded.zone,
                .server_class = recorded.server_class,
                .cores = recorded.cores,
                .started_at_ms = recorded.started_at_ms};
  const auto known = laws_.find(recorded.id);
  if (known == laws_.end() || known->second.self().started_at_ms != recorded.started_at_ms ||
      known->second.self().zone != recorded.zone) {
    return laws_.insert_or_assign(recorded.id, Law(settings_.law, std::move(self))).first->second;
  }
  Law& law = known->second;
  if (law.self().server_class != recorded.server_class || law.self().cores != recorded.cores) {
    law.resize(std::move(self.server_class), self.cores);
  }
  return law;
}

}  // namespace spillway::capacity
