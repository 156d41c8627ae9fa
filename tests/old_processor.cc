// Linked with the gate that pretends an old processor: nothing of this may run.
#include <cstdio>

namespace {

struct Early {
  Early() { std::fputs("a constructor ran\n", stderr); }
};

const Early kEarly;

}  // namespace

int main() {
  std::fputs("main ran\n", stderr);
  return 0;
}
