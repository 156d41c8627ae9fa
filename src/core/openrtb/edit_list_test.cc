#include "openrtb/edit_list.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "openrtb/document.h"
#include "openrtb/keys.h"
#include "openrtb/padded.h"

namespace spillway::openrtb {
namespace {

/// `json` after the edits that `apply` makes.
std::string edited(std::string_view json,
                   const std::function<void(const Document&, EditList&)>& apply) {
  const Padded text(json);
  Document d;
  EXPECT_TRUE(d.walk(text.view()));
  EditList edits(d);
  apply(d, edits);
  return edits.bytes();
}

TEST(EditList, without_edits_is_the_document_in_one_piece) {
  const Padded text(" {\"a\" : 1e400 } ");
  Document d;
  ASSERT_TRUE(d.walk(text.view()));
  EditList edits(d);
  EXPECT_EQ(edits.pieces().size(), 1u);
  EXPECT_EQ(edits.bytes(), text.view());
}

/// Numbers 0 to 3 but for those in `set`.
std::string numbers_without(unsigned set) {
  std::string out;
  for (unsigned i = 0; i < 4; ++i) {
    if ((set >> i & 1) == 0) {
      out += (out.empty() ? "" : ",") + std::to_string(i);
    }
  }
  return out;
}

/// Backwards: the order of edits must not matter.
void remove_set(const Document& d, EditList& edits, unsigned set) {
  for (unsigned i = 4; i-- > 0;) {
    if ((set >> i & 1) != 0) {
      edits.remove(d.first_child(0) + i);
    }
  }
}

TEST(EditList, removes_any_combination_of_elements_with_their_commas) {
  for (unsigned set = 0; set < 16; ++set) {
    const std::string kept = numbers_without(set);
    EXPECT_EQ(
        edited("[0,1,2,3]", [&](const Document& d, EditList& edits) { remove_set(d, edits, set); }),
        "[" + kept + "]");
    EXPECT_EQ(edited("[0,1,2,3]",
                     [&](const Document& d, EditList& edits) {
                       edits.append(0, "9");
                       remove_set(d, edits, set);
                     }),
              "[" + kept + (kept.empty() ? "9]" : ",9]"));
  }
}

TEST(EditList, sets_members_that_are_there_null_or_missing) {
  const auto set_two = [](const Document&, EditList& edits) {
    edits.set(0, Key::tmax, "50");
    edits.set(0, "n\"w", "[]");
  };
  EXPECT_EQ(edited(R"({"id":"x", "tmax" : null})", set_two),
            R"({"id":"x", "tmax" : 50,"n\"w":[]})");
  EXPECT_EQ(edited(R"({})", set_two), R"({"tmax":50,"n\"w":[]})");
  EXPECT_EQ(edited(R"({"\u0074max":1})", set_two), R"({"\u0074max":50,"n\"w":[]})");
}

TEST(EditList, last_edit_of_one_value_or_new_member_wins) {
  EXPECT_EQ(edited(R"({"a":1,"b":2})",
                   [](const Document& d, EditList& edits) {
                     edits.set(0, "c", "1");
                     edits.set(0, "d", "2");
                     edits.set(0, "c", "3");
                     edits.remove(d.find(0, "a"));
                     edits.set(0, "a", "7");
                     edits.replace(d.find(0, "b"), "0");
                     edits.remove(d.find(0, "b"));
                   }),
            R"({"a":7,"d":2,"c":3})");
}

TEST(EditList, ignores_edits_inside_what_is_removed_or_replaced) {
  EXPECT_EQ(edited(R"({"a":{"x":[1,2]},"b":[{"y":1}],"c":0})",
                   [](const Document& d, EditList& edits) {
                     const NodeId a = d.find(0, "a");
                     const NodeId b = d.find(0, "b");
                     edits.append(d.find(a, "x"), "3");
                     edits.remove(d.first_child(d.find(a, "x")));
                     edits.set(a, "z", "1");
                     edits.set(d.first_child(b), "y", "2");
                     edits.append(b, "{}");
                     edits.remove(a);
                     edits.replace(b, "true");
                   }),
            R"({"b":true,"c":0})");
}

TEST(EditList, ignores_edits_that_have_no_place) {
  EXPECT_EQ(edited(R"({"a":1})",
                   [](const Document& d, EditList& edits) {
                     edits.remove(kAbsent);
                     edits.remove(d.root());
                     edits.replace(kAbsent, "1");
                     edits.append(d.root(), "1");
                     edits.append(kAbsent, "1");
                     edits.set(d.find(0, "a"), Key::id, "1");
                     edits.set(kAbsent, Key::id, "1");
                   }),
            R"({"a":1})");
}

TEST(EditList, starts_over_for_another_document) {
  const Padded first("[1]");
  const Padded second("[2]");
  Document a;
  Document b;
  ASSERT_TRUE(a.walk(first.view()));
  ASSERT_TRUE(b.walk(second.view()));
  EditList edits(a);
  edits.append(0, "5");
  EXPECT_EQ(edits.bytes(), "[1,5]");
  edits.append(0, "6");
  EXPECT_EQ(edits.bytes(), "[1,5,6]");
  edits.reset(b);
  EXPECT_EQ(edits.bytes(), "[2]");
}

// The model: a tree that is edited naively, written out compactly, and compared with the edited
// bytes after those have been walked and written out the same way.

struct Tree {
  std::string scalar;
  Kind kind = Kind::kNull;
  bool removed = false;
  std::vector<std::pair<std::string, std::shared_ptr<Tree>>> items;
};

std::shared_ptr<Tree> tree_of(const Document& d, NodeId id,
                              std::map<NodeId, std::shared_ptr<Tree>>* index = nullptr) {
  auto tree = std::make_shared<Tree>();
  tree->kind = d.kind(id);
  tree->scalar = std::string(d.raw(id));
  for (const NodeId child : d.children(id)) {
    tree->items.emplace_back(d.name(child), tree_of(d, child, index));
  }
  if (index != nullptr) {
    (*index)[id] = tree;
  }
  return tree;
}

std::shared_ptr<Tree> scalar_tree(const std::string& text) {
  auto tree = std::make_shared<Tree>();
  tree->kind = Kind::kNumber;
  tree->scalar = text;
  return tree;
}

std::string written(const Tree& tree) {
  if (tree.kind != Kind::kArray && tree.kind != Kind::kObject) {
    return tree.scalar;
  }
  std::string out(1, tree.kind == Kind::kArray ? '[' : '{');
  for (const auto& [name, item] : tree.items) {
    if (item->removed) {
      continue;
    }
    out += out.size() > 1 ? "," : "";
    if (tree.kind == Kind::kObject) {
      append_json_string(out, name);
      out += ':';
    }
    out += written(*item);
  }
  return out + (tree.kind == Kind::kArray ? ']' : '}');
}

class RandomEdits {
 public:
  explicit RandomEdits(uint64_t seed) : random_(seed) {}

  std::string document(int depth) {
    const uint64_t kind = depth == 0 ? 5 : random_() % 6;
    const uint64_t count = random_() % 4;
    std::string out;
    if (kind < 2) {
      for (uint64_t i = 0; i < count; ++i) {
        out += (i > 0 ? "," : "") + space() + document(depth - 1) + space();
      }
      return "[" + out + (count == 0 ? space() : "") + "]";
    }
    if (kind < 5) {
      for (uint64_t i = 0; i < count; ++i) {
        out += (i > 0 ? "," : "") + space() + "\"" + kNames[i + random_() % 2 * 4] + "\"" +
               space() + ":" + space() + document(depth - 1) + space();
      }
      return "{" + out + "}";
    }
    return std::to_string(random_() % 100);
  }

  /// One random edit, made on both sides. The model has no removed-then-set subtleties: a node is
  /// removed or replaced at most once.
  void edit(const Document& d, EditList& edits, std::map<NodeId, std::shared_ptr<Tree>>& index) {
    const auto id = static_cast<NodeId>(random_() % d.size());
    const std::shared_ptr<Tree> tree = index[id];
    const std::string value = std::to_string(1000 + random_() % 1000);
    switch (random_() % 4) {
      case 0:
        edits.remove(id);
        tree->removed = id != d.root();
        break;
      case 1:
        edits.replace(id, value);
        *tree = *scalar_tree(value);
        break;
      case 2:
        edits.append(id, value);
        if (d.is(id, Kind::kArray) && tree->kind == Kind::kArray) {
          tree->items.emplace_back("", scalar_tree(value));
        }
        break;
      default:
        set(d, edits, index, id, value);
    }
  }

 private:
  void set(const Document& d, EditList& edits, std::map<NodeId, std::shared_ptr<Tree>>& index,
           NodeId id, const std::string& value) {
    const std::string name = kPlainNames[random_() % 8];
    edits.set(id, name, value);
    Tree& tree = *index[id];
    if (!d.is(id, Kind::kObject) || tree.kind != Kind::kObject) {
      return;
    }
    const NodeId member = d.member(id, name);
    if (member != kAbsent) {
      *index[member] = *scalar_tree(value);
      return;
    }
    std::erase_if(tree.items, [&](const auto& item) { return item.first == name; });
    tree.items.emplace_back(name, scalar_tree(value));
  }

  std::string space() { return random_() % 3 == 0 ? " \n" : ""; }

  static constexpr const char* kNames[] = {"id",      "imp",  "zz", "q",
                                           "\\u0077", "tmax", "yy", "\\u00e9"};
  static constexpr const char* kPlainNames[] = {"id", "imp", "zz", "q", "w", "tmax", "yy", "é"};
  std::mt19937_64 random_;
};

TEST(EditList, equals_a_naive_tree_under_random_edits) {
  size_t changed = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    RandomEdits random(seed);
    const std::string json = random.document(4);
    const Padded text(json);
    Document d;
    ASSERT_TRUE(d.walk(text.view())) << json;
    std::map<NodeId, std::shared_ptr<Tree>> index;
    const std::shared_ptr<Tree> model = tree_of(d, 0, &index);
    EditList edits(d);
    for (uint64_t i = 0; i < seed % 8; ++i) {
      random.edit(d, edits, index);
    }
    const Padded out(edits.bytes());
    Document again;
    ASSERT_TRUE(again.walk(out.view())) << json << "\n-> " << out.view();
    ASSERT_EQ(written(*tree_of(again, 0)), written(*model)) << json << "\n-> " << out.view();
    changed += out.view() != json ? 1 : 0;
  }
  EXPECT_GT(changed, 10'000u);
}

}  // namespace
}  // namespace spillway::openrtb
