#pragma once

// For this room's tests only: a client whose resolver is a table, and peers at several addresses.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "net/client.h"
#include "net/client_fixture.h"
#include "net/reactor.h"
#include "net/resolver.h"
#include "net/test_kit.h"

namespace spillway::net::testing {

/// A resolver that answers from a table at the end of the reactor's poll, or when told.
class TableOfNames final : public NameLookup {
 public:
  void look_up(std::string host, uint16_t /*port*/, Done done) override {
    ++asked[host];
    if (held) {
      waiting.emplace_back(std::move(host), std::move(done));
    } else {
      answer(std::move(host), std::move(done));
    }
  }

  /// Ends the oldest look-up that is held.
  void answer_one() {
    auto [host, done] = std::move(waiting.front());
    waiting.erase(waiting.begin());
    answer(std::move(host), std::move(done));
  }

  Reactor* reactor = nullptr;
  std::map<std::string, std::vector<SocketAddress>> table;
  std::map<std::string, size_t> asked;
  std::vector<std::pair<std::string, Done>> waiting;
  bool held = false;

 private:
  void answer(std::string host, Done done) {
    reactor->defer(
        [this, host = std::move(host), done = std::move(done)]() mutable { done(table[host]); });
  }
};

/// A client whose names are a table.
class NamesFixture : public ClientFixture {
 protected:
  NamesFixture() : NamesFixture(std::make_shared<TableOfNames>()) {}

  /// `host` becomes a name of these listeners.
  void name(const std::string& host, const std::vector<RawListener>& listeners) {
    std::vector<SocketAddress>& addresses = names_->table[host];
    addresses.clear();
    for (const RawListener& listener : listeners) {
      addresses.push_back(literal_address("127.0.0.1", listener.port()).front());
    }
  }

  /// Runs the reactor for some polls.
  void turn() {
    run_while_not([polls = 0]() mutable { return ++polls > 5; });
  }

  /// How many connections each listener has in its queue; takes them.
  std::vector<size_t> take_callers(std::vector<RawListener>& listeners) {
    std::vector<size_t> counts;
    for (RawListener& listener : listeners) {
      counts.push_back(0);
      for (; listener.has_caller(); ++counts.back()) {
        sockets_.push_back(listener.accept());
      }
    }
    return counts;
  }

  /// Calls `count` times and waits until every connection stands.
  void connect(TargetId target, size_t count) {
    for (size_t i = 0; i < count; ++i) {
      call(target);
    }
    EXPECT_TRUE(run_while_not([&] {
      const Client::Pool pool = client_.pool(target);
      return pool.connecting == 0 && pool.busy >= count;
    }));
  }

  /// The peer answers every request of its first `connections` connections, one after the other.
  void serve(size_t connections) {
    script([this, connections] {
      for (size_t i = 0; i < connections; ++i) {
        RawSocket socket = listener_.accept();
        while (!socket.receive_message().starts_with("<end>")) {
          socket.send(kOk);
        }
      }
    });
  }

  void name_the_listener(const std::string& host) {
    names_->table[host] = literal_address("127.0.0.1", listener_.port());
  }

  std::shared_ptr<TableOfNames> names_;
  std::vector<RawSocket> sockets_;

 private:
  explicit NamesFixture(const std::shared_ptr<TableOfNames>& names)
      : ClientFixture({.names = names}), names_(names) {
    names_->reactor = &reactor_;
  }
};

}  // namespace spillway::net::testing
