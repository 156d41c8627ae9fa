#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/money.h"
#include "bidder/facts.h"
#include "bidder/model.h"
#include "openrtb/document.h"
#include "openrtb/keys.h"

namespace spillway::bidder {

/// The reader behind RequestFacts::read: the request in facts_reader.cc, its imps in
/// imp_facts_reader.cc. Lives for one read. Every node may be absent, null or of a wrong type, and
/// then counts as absent.
class FactsReader {
 public:
  FactsReader(const openrtb::Document& document, RequestFacts& facts)
      : document_(document), facts_(facts) {}

  void read(size_t imps_max);

 private:
  struct Price {
    base::Cpm floor;
    base::Currency currency;
    bool known = true;
  };

  /// Where the members are that are read one after the other.
  struct Places {
    openrtb::NodeId imps = openrtb::kAbsent;
    openrtb::NodeId acat = openrtb::kAbsent;
    openrtb::NodeId bcat = openrtb::kAbsent;
    openrtb::NodeId cattax = openrtb::kAbsent;
    openrtb::NodeId device = openrtb::kAbsent;
    openrtb::NodeId user = openrtb::kAbsent;
    openrtb::NodeId inventory = openrtb::kAbsent;  ///< Site or app.
    bool is_app = false;

    void note(openrtb::Key key, openrtb::NodeId node);
  };

  void member(openrtb::NodeId node, Places& places);
  void blocked_categories(const Places& places);
  void tmax(openrtb::NodeId node);
  void currencies(openrtb::NodeId list);
  void device(openrtb::NodeId device);
  void geo(openrtb::NodeId geo);
  void user(openrtb::NodeId user);
  void segments(openrtb::NodeId data);
  void inventory(openrtb::NodeId node, bool is_app);

  void imps(openrtb::NodeId list, size_t imps_max);
  void imp(openrtb::NodeId node, ImpFacts& out);
  void medium(openrtb::NodeId node, MediaFacts& out);
  void banner_sizes(openrtb::NodeId banner, ImpFacts& out) const;
  void pmp(openrtb::NodeId pmp, ImpFacts& out);
  void deal(openrtb::NodeId node, DealFacts& out);

  [[nodiscard]] std::string_view text(openrtb::NodeId node);
  /// A text, or a whole number as text.
  [[nodiscard]] std::string_view id(openrtb::NodeId node);
  [[nodiscard]] std::string_view value(Dimension dimension, openrtb::NodeId node);
  [[nodiscard]] std::string_view domain(openrtb::NodeId node);
  [[nodiscard]] int32_t number(openrtb::NodeId node) const;

  /// A taxonomy: 1 when absent.
  [[nodiscard]] int64_t cattax_of(openrtb::NodeId node) const {
    return node == openrtb::kAbsent || document_.is(node, openrtb::Kind::kNull)
               ? 1
               : document_.integer(node).value_or(0);
  }

  void numbers(openrtb::NodeId list, std::vector<int32_t>& out) const;
  void texts(openrtb::NodeId list, std::vector<std::string_view>& out);
  void values(Dimension dimension, openrtb::NodeId list, std::vector<std::string_view>& out);
  void domains(openrtb::NodeId list, std::vector<std::string_view>& out);
  [[nodiscard]] Price price(openrtb::NodeId amount, openrtb::NodeId code) const;

  const openrtb::Document& document_;
  RequestFacts& facts_;
};

}  // namespace spillway::bidder
