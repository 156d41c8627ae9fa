#include "adapters/redis_protocol.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include <hiredis/hiredis.h>
#include <hiredis/read.h>

#include "adapters/redis_reply.h"

namespace spillway::adapters {

RedisCommand::RedisCommand(std::span<const std::string_view> parts) {
  constexpr size_t kUsual = 64;
  std::array<const char*, kUsual> few_texts{};
  std::array<size_t, kUsual> few_sizes{};
  std::vector<const char*> many_texts;
  std::vector<size_t> many_sizes;
  const char** texts = few_texts.data();
  size_t* sizes = few_sizes.data();
  if (parts.size() > kUsual) {
    many_texts.resize(parts.size());
    many_sizes.resize(parts.size());
    texts = many_texts.data();
    sizes = many_sizes.data();
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    texts[i] = parts[i].data();
    sizes[i] = parts[i].size();
  }
  char* bytes = nullptr;
  const int size = redisFormatCommandArgv(&bytes, static_cast<int>(parts.size()), texts, sizes);
  if (size > 0) {
    bytes_.reset(bytes);
    size_ = static_cast<size_t>(size);
  }
}

RedisCommand RedisCommand::copy() const {
  RedisCommand other;
  other.bytes_.reset(static_cast<char*>(std::malloc(size_)));  // hiredis frees with free()
  if (other.bytes_) {
    std::memcpy(other.bytes_.get(), bytes_.get(), size_);
    other.size_ = size_;
  }
  return other;
}

void RedisCommand::Free::operator()(char* bytes) const { redisFreeCommand(bytes); }

RedisType RedisReply::type() const {
  return tree_ != nullptr && node_ < tree_->nodes_.size() ? tree_->nodes_[node_].type
                                                          : RedisType::kNil;
}

int64_t RedisReply::integer() const {
  return type() == RedisType::kInteger ? tree_->nodes_[node_].integer : 0;
}

std::string_view RedisReply::text() const {
  switch (type()) {
    case RedisType::kString:
    case RedisType::kStatus:
    case RedisType::kError: {
      const RedisReplyTree::Node& node = tree_->nodes_[node_];
      return {tree_->text_.data() + node.integer, node.size};
    }
    case RedisType::kNil:
    case RedisType::kInteger:
    case RedisType::kArray:
      break;
  }
  return {};
}

size_t RedisReply::size() const {
  return type() == RedisType::kArray ? static_cast<size_t>(tree_->nodes_[node_].integer) : 0;
}

RedisReply RedisReply::operator[](size_t index) const {
  if (index >= size()) {
    return {};
  }
  RedisReply element = first();
  for (size_t i = 0; i < index; ++i) {
    element = element.next();
  }
  return element;
}

RedisReply RedisReply::first() const { return {tree_, node_ + 1}; }

RedisReply RedisReply::next() const { return {tree_, tree_->nodes_[node_].end}; }

redisReplyObjectFunctions& RedisReplyTree::functions() {
  static redisReplyObjectFunctions functions{.createString = add_text,
                                             .createArray = add_array,
                                             .createInteger = add_integer,
                                             .createNil = add_nil,
                                             .freeObject = free};
  return functions;
}

void RedisReplyTree::clear() {
  nodes_.clear();
  text_.clear();
}

void RedisReplyTree::finish() {
  for (size_t i = nodes_.size(); i-- > 0;) {
    auto end = static_cast<uint32_t>(i + 1);
    for (int64_t child = 0; nodes_[i].type == RedisType::kArray && child < nodes_[i].integer;
         ++child) {
      end = nodes_[end].end;
    }
    nodes_[i].end = end;
  }
}

void* RedisReplyTree::add(const redisReadTask* task, const Node& node) {
  auto* const tree = static_cast<RedisReplyTree*>(task->privdata);
  tree->nodes_.push_back(node);
  return tree;  // anything but null: nodes are found by their place
}

void* RedisReplyTree::add_text(const redisReadTask* task, char* text, size_t size) {
  auto* const tree = static_cast<RedisReplyTree*>(task->privdata);
  const size_t begin = tree->text_.size();
  tree->text_.insert(tree->text_.end(), text, text + size);
  const RedisType type = task->type == REDIS_REPLY_ERROR    ? RedisType::kError
                         : task->type == REDIS_REPLY_STATUS ? RedisType::kStatus
                                                            : RedisType::kString;
  return add(task, {.type = type, .integer = static_cast<int64_t>(begin), .size = size});
}

void* RedisReplyTree::add_array(const redisReadTask* task, int size) {
  return add(task, {.type = RedisType::kArray, .integer = size});
}

void* RedisReplyTree::add_integer(const redisReadTask* task, long long value) {
  return add(task, {.type = RedisType::kInteger, .integer = value});
}

void* RedisReplyTree::add_nil(const redisReadTask* task) { return add(task, {}); }

void RedisReplyTree::free(void* /*node*/) {}

RedisReader::RedisReader(uint64_t max_bytes)
    : max_bytes_(max_bytes), reader_(redisReaderCreateWithFunctions(&RedisReplyTree::functions())) {
  if (reader_) {
    reader_->privdata = &tree_;
  }
}

bool RedisReader::feed(std::string_view bytes) {
  pending_ += bytes.size();
  return reader_ && pending_ <= max_bytes_ + bytes.size() &&
         redisReaderFeed(reader_.get(), bytes.data(), bytes.size()) == REDIS_OK;
}

RedisReader::Progress RedisReader::next(RedisReply& reply) {
  if (reader_->ridx == -1) {  // nothing of the next reply has been read
    tree_.clear();
  }
  void* whole = nullptr;
  if (redisReaderGetReply(reader_.get(), &whole) != REDIS_OK) {
    return Progress::kBroken;
  }
  if (whole == nullptr) {
    return pending_ > max_bytes_ ? Progress::kBroken : Progress::kPart;
  }
  pending_ = reader_->len - reader_->pos;
  tree_.finish();
  reply = tree_.root();
  return Progress::kWhole;
}

}  // namespace spillway::adapters
