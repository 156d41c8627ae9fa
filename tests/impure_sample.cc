// What no room of src/core/ may do, each once: the tests of the checks must see all of it.
#include <chrono>
#include <cstdint>
#include <random>
#include <thread>

namespace spillway::impure {

// NOLINTBEGIN(misc-use-internal-linkage): the library must keep them
uint64_t calls = 0;

uint64_t sample() {
  ++calls;
  std::jthread([] {}).join();
  return std::random_device()() +
         static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

// NOLINTEND(misc-use-internal-linkage)

}  // namespace spillway::impure
