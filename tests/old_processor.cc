// Linked with the gate that pretends an old processor: nothing of this may run.
#include <cstdio>

namespace {

struct Early {
  Early() noexcept { std::fputs("a constructor ran\n", stderr); }
};

const Early early;

}  // namespace

int main() {
  std::fputs("main ran\n", stderr);
  return 0;
}
