#include "app/processor/processor.h"

namespace spillway::app {

const char* processor_refusal() {
  return "spillway: this build needs a processor of x86-64-v3 (AVX2, BMI1, BMI2, FMA, LZCNT, "
         "MOVBE, "
         "F16C) with PCLMUL; this machine's lacks some of them. Build with the preset `debug`, or "
         "with -DSPILLWAY_MARCH= (empty), for a slower one that runs here.\n";
}

#if defined(SPILLWAY_PRETEND_OLD_PROCESSOR)
bool processor_fits() { return false; }
#elif defined(SPILLWAY_NEEDS_V3)
bool processor_fits() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("lzcnt") && __builtin_cpu_supports("movbe") &&
         __builtin_cpu_supports("f16c") && __builtin_cpu_supports("pclmul");
}
#else
bool processor_fits() { return true; }
#endif

}  // namespace spillway::app
