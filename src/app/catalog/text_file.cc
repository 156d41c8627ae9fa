#include "app/catalog/text_file.h"

#include <cerrno>
#include <cstdio>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "adapters/catalog_source.h"

namespace spillway::app::catalog {

namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

using File = std::unique_ptr<std::FILE, CloseFile>;

std::unexpected<std::string> failure(const std::string& path) {
  return std::unexpected(path + ": " + std::generic_category().message(errno));
}

}  // namespace

adapters::StoreResult<std::string> read_text(const std::string& path) {
  const File file(std::fopen(path.c_str(), "rbe"));
  if (file == nullptr) {
    return failure(path);
  }
  std::string out;
  constexpr size_t kBlock = size_t{1} << 20;
  for (;;) {
    const size_t before = out.size();
    out.resize(before + kBlock);
    const size_t size = std::fread(out.data() + before, 1, kBlock, file.get());
    out.resize(before + size);
    if (size < kBlock) {
      return std::ferror(file.get()) != 0 ? failure(path) : adapters::StoreResult<std::string>(out);
    }
  }
}

TextStream::TextStream(std::string path)
    : path_(std::move(path)),
      beside_(path_ + ".part"),
      file_(path_ == "-" ? stdout : std::fopen(beside_.c_str(), "wbe")) {
  if (file_ == nullptr) {
    fail();
  }
}

TextStream::~TextStream() {
  if (file_ != nullptr && file_ != stdout) {
    std::fclose(file_);
    std::remove(beside_.c_str());
  }
}

void TextStream::fail() {
  error_ = (path_ == "-" ? "stdout" : path_) + ": " + std::generic_category().message(errno);
}

void TextStream::write(std::string_view text) {
  if (error_.empty() && std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
    fail();
  }
}

void TextStream::end() {
  if (error_.empty() && std::fflush(file_) != 0) {
    fail();
  }
  if (!error_.empty() || file_ == stdout) {
    return;
  }
  const bool closed = std::fclose(std::exchange(file_, nullptr)) == 0;
  if (!closed || std::rename(beside_.c_str(), path_.c_str()) != 0) {
    fail();
  }
}

adapters::StoreResult<void> write_text(const std::string& path, std::string_view text) {
  TextStream out(path);
  out.write(text);
  out.end();
  return out.error().empty() ? adapters::StoreResult<void>() : std::unexpected(out.error());
}

}  // namespace spillway::app::catalog
