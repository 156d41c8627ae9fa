#include "bidder/scoring/document_reader.h"

#include <charconv>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "bidder/scoring/document.h"
#include "bidder/scoring/model_file.h"

namespace spillway::bidder {

namespace {

std::string_view name_of(DocValue::Kind kind) {
  switch (kind) {
    case DocValue::Kind::kNull:
      return "null";
    case DocValue::Kind::kBool:
      return "a Boolean";
    case DocValue::Kind::kNumber:
      return "a number";
    case DocValue::Kind::kString:
      return "a string";
    case DocValue::Kind::kNumbers:
      return "an array of numbers";
    case DocValue::Kind::kList:
      return "an array";
    case DocValue::Kind::kObject:
      return "an object";
  }
  return "";
}

}  // namespace

std::string DocumentReader::below(const std::string& path, std::string_view name) {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

bool DocumentReader::fail(ModelErrc code, std::string what) {
  if (!failed_) {
    failed_ = true;
    error_ = ModelError{code, std::move(what)};
  }
  return false;
}

const DocValue& DocumentReader::need(const DocValue& of, std::string_view name,
                                     const std::string& path, DocValue::Kind kind) {
  if (!ok()) {
    return nothing_;
  }
  const DocValue* const found = of.find(name);
  if (found == nullptr) {
    fail(ModelErrc::kMissing, below(path, name) + ": missing");
    return nothing_;
  }
  const bool empty_list = kind == DocValue::Kind::kList &&
                          found->kind == DocValue::Kind::kNumbers && found->numbers.empty();
  if (found->kind != kind && !empty_list) {
    fail(ModelErrc::kMissing, below(path, name) + ": must be " + std::string(name_of(kind)) +
                                  ", is " + std::string(name_of(found->kind)));
    return nothing_;
  }
  return *found;
}

const DocValue& DocumentReader::object(const DocValue& of, std::string_view name,
                                       const std::string& path) {
  return need(of, name, path, DocValue::Kind::kObject);
}

const std::vector<DocValue>& DocumentReader::list(const DocValue& of, std::string_view name,
                                                  const std::string& path) {
  return need(of, name, path, DocValue::Kind::kList).items;
}

const std::string& DocumentReader::text(const DocValue& of, std::string_view name,
                                        const std::string& path) {
  return need(of, name, path, DocValue::Kind::kString).text;
}

const std::vector<double>& DocumentReader::numbers(const DocValue& of, std::string_view name,
                                                   const std::string& path) {
  return need(of, name, path, DocValue::Kind::kNumbers).numbers;
}

double DocumentReader::number(const DocValue& of, std::string_view name, const std::string& path) {
  return need(of, name, path, DocValue::Kind::kNumber).number;
}

double DocumentReader::number_text(const DocValue& of, std::string_view name,
                                   const std::string& path) {
  const std::string& written = text(of, name, path);
  double value = 0;
  const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), value);
  if (ok() && (error != std::errc() || end != written.data() + written.size())) {
    fail(ModelErrc::kBadValue,
         below(path, name) + ": \"" + written.substr(0, 40) + "\" is no number");
  }
  return value;
}

std::vector<std::string> DocumentReader::texts(const DocValue& of, std::string_view name,
                                               const std::string& path) {
  std::vector<std::string> out;
  if (of.find(name) == nullptr) {
    return out;
  }
  for (const DocValue& item : list(of, name, path)) {
    if (item.kind != DocValue::Kind::kString) {
      fail(ModelErrc::kMissing, below(path, name) + ": must be an array of strings");
      return {};
    }
    out.push_back(item.text);
  }
  return out;
}

}  // namespace spillway::bidder
