// What may stand in the place of a file of input: files, and pipes that somebody writes to.
#include "sim/core/files/input_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "sim/core/error.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// A path where nothing is, in a folder that is gone when the test ends.
class InputFileTest : public testing::Test {
 protected:
  InputFileTest() : folder_(testing::TempDir() + "/tandem_input_" + std::to_string(getpid())) {
    fs::create_directories(folder_);
  }
  ~InputFileTest() override { fs::remove_all(folder_); }
  std::string path() const { return folder_ + "/input"; }
  const std::string& folder() const { return folder_; }

 private:
  std::string folder_;
};

std::string content(const std::string& path, std::size_t most_bytes = 1 << 20) {
  InputFile file(path, "a list");
  return read_whole(file, most_bytes, "a list");
}

std::string refusal(const std::string& path, std::size_t most_bytes = 1 << 20) {
  try {
    content(path, most_bytes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_F(InputFileTest, AFileIsReadWholeUpToItsLimit) {
  const std::string text(3 << 20, 'x');
  std::ofstream(path()) << text;
  EXPECT_EQ(InputFile(path(), "a list").size(), 3 << 20);
  EXPECT_EQ(content(path(), text.size()), text);
  EXPECT_EQ(refusal(path(), 2 << 20), path() + ": found more than 2 MiB, expected a list of less");
}

TEST_F(InputFileTest, FoldersDevicesAndWhatIsNotThere) {
  EXPECT_EQ(refusal(path()), path() + ": found No such file or directory, expected a list");
  EXPECT_EQ(refusal(folder()), folder() + ": found a folder, expected a list");
  for (const std::string device : {"/dev/null", "/dev/zero", "/dev/random"}) {
    EXPECT_EQ(refusal(device), device + ": found a device, expected a list");
  }
  fs::create_symlink("/dev/zero", path());
  EXPECT_EQ(refusal(path()), path() + ": found a device, expected a list");
}

TEST_F(InputFileTest, APipeThatNobodyWritesToEnds) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(refusal(path()), path() + ": found a pipe that nobody writes to, expected a list");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST_F(InputFileTest, APipeIsReadToItsEndHoweverSlow) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  const std::string half(200'000, 'y');
  std::thread other([&] {
    std::ofstream out(path());  // waits for the reader
    out << 'x' << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    out << half;
  });
  EXPECT_EQ(content(path()), 'x' + half);
  other.join();
}

TEST_F(InputFileTest, AWriterMayBeginLate) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  // Both ends: somebody could write, and says nothing for longer than a writer is waited for.
  const int both = open(path().c_str(), O_RDWR | O_CLOEXEC);
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    EXPECT_EQ(write(both, "late", 4), 4);
    close(both);
  });
  EXPECT_EQ(content(path()), "late");
  other.join();
}

}  // namespace
}  // namespace tandem
