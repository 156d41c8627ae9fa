#include "app/config/config_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace spillway::app {
namespace {

struct ConfigFileTest : testing::Test {
  ConfigFileTest() {
    std::string pattern = testing::TempDir() + "config_file_XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }

  ~ConfigFileTest() override { std::filesystem::remove_all(folder); }

  std::string folder;
};

TEST_F(ConfigFileTest, GivesTheBytesOfAFileAndRefusesALargerOne) {
  const std::string path = folder + "/a";
  std::ofstream(path, std::ios::binary) << std::string(100'000, 'x');
  EXPECT_EQ(read_whole_file(path, 100'000).value().size(), 100'000U);
  EXPECT_EQ(read_whole_file(path, 99'999).error(), path + ": is larger than 99999 bytes");
}

TEST_F(ConfigFileTest, SaysWhatCannotBeOpenedOrRead) {
  EXPECT_EQ(read_config_file(folder + "/none").error(),
            folder + "/none: cannot be opened: No such file or directory");
  EXPECT_EQ(read_config_file(folder).error(), folder + ": cannot be read: Is a directory");
}

TEST_F(ConfigFileTest, TellsAFileThatEndsWithinALine) {
  const std::string path = folder + "/a";
  EXPECT_FALSE(ends_within_a_line(path));
  std::ofstream(path) << "";
  EXPECT_FALSE(ends_within_a_line(path));
  std::ofstream(path) << "a\n";
  EXPECT_FALSE(ends_within_a_line(path));
  std::ofstream(path) << "a\nb";
  EXPECT_TRUE(ends_within_a_line(path));
  EXPECT_FALSE(ends_within_a_line(folder));
  EXPECT_FALSE(ends_within_a_line("/dev/zero"));
}

TEST_F(ConfigFileTest, APipeIsReadToItsEndAndOneWithoutAWriterHoldsNobody) {
  const std::string path = folder + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read_config_file(path).value(), "");
  const int keeps_it_open = ::open(path.c_str(), O_RDWR);
  ASSERT_EQ(::write(keeps_it_open, "a: 1\n", 5), 5);
  EXPECT_EQ(read_config_file(path).error(), path + ": cannot be read: Connection timed out");
  ::close(keeps_it_open);
}

}  // namespace
}  // namespace spillway::app
