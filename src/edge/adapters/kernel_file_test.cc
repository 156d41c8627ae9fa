#include "adapters/kernel_file.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>

#include <gtest/gtest.h>

#include "adapters/redis_fixture.h"

namespace spillway::adapters {
namespace {

size_t open_descriptors_of(std::string_view path) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code error;
    count += std::filesystem::read_symlink(entry.path(), error) == path ? 1 : 0;
  }
  return count;
}

TEST(KernelFile, IsReadAnewEachTimeThoughItStaysOpen) {
  KernelFile file("/proc/self/status");
  std::string scratch;
  ASSERT_TRUE(file.read(scratch).has_value());
  const auto itself = std::filesystem::canonical("/proc/self/status").string();
  EXPECT_EQ(open_descriptors_of(itself), 1U);
  for (int i = 0; i < 3; ++i) {
    const auto text = file.read(scratch);
    ASSERT_TRUE(text);
    EXPECT_TRUE(text->starts_with("Name:")) << *text;
    EXPECT_TRUE(text->ends_with("\n"));
  }
  EXPECT_EQ(open_descriptors_of(itself), 1U);
}

TEST(KernelFile, OneThatMayBeReplacedIsOpenedEachTime) {
  const testing::ScratchFolder folder;
  const auto path = folder.path() + "/stat";
  KernelFile file(path);
  std::string scratch;
  EXPECT_FALSE(file.read(scratch));
  std::ofstream(path) << "one";
  EXPECT_EQ(file.read(scratch), "one");
  std::ofstream(path + ".next") << "another";
  std::filesystem::rename(path + ".next", path);
  EXPECT_EQ(file.read(scratch), "another");
  std::filesystem::remove(path);
  EXPECT_FALSE(file.read(scratch));
}

TEST(KernelFile, IsReadWholeWhenItIsLargerThanTheBuffer) {
  const testing::ScratchFolder folder;
  const auto path = folder.path() + "/stat";
  const std::string large(100'000, 'x');
  std::ofstream(path) << large;
  KernelFile file(path);
  std::string scratch;
  EXPECT_EQ(file.read(scratch), large);
  EXPECT_EQ(file.read(scratch), large);
}

TEST(KernelFile, WithoutAPathThereIsNone) {
  KernelFile file;
  std::string scratch;
  EXPECT_FALSE(file.read(scratch));
}

}  // namespace
}  // namespace spillway::adapters
