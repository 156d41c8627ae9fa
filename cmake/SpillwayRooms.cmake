# One library a room: every .cc of the folder that is not a test, bench or fuzz target goes in; tests beside them make
# one test program, benches one bench program that also runs tiny under CTest.
if(SPILLWAY_PURE_ONLY)
  # Debian has GoogleTest's source (package googletest), and no library of it for another processor.
  include(GoogleTest)
  find_package(Threads REQUIRED)
  set(INSTALL_GTEST OFF CACHE BOOL "" FORCE)
  add_subdirectory(/usr/src/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
elseif(NOT SPILLWAY_RESILIENCE_ONLY)
  include(GoogleTest)
  find_package(Threads REQUIRED)
  find_package(GTest REQUIRED)
  find_package(benchmark REQUIRED)
endif()

find_program(SPILLWAY_CCACHE ccache)
if(SPILLWAY_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${SPILLWAY_CCACHE})
endif()

add_library(spillway_options INTERFACE)
target_compile_options(spillway_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fno-omit-frame-pointer)
# Two false alarms of GCC 12 at -O2 inside its own <string> and <expected> (GCC bugs 105329, 105651, 107919).
target_compile_options(spillway_options INTERFACE
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict -Wno-maybe-uninitialized>)
target_compile_options(spillway_options INTERFACE $<$<CONFIG:Release>:-O2 -g1 -UNDEBUG>)
if(SPILLWAY_MARCH)
  # simdjson selects its AVX2 kernel at compile time only when PCLMUL is on too, which x86-64-v3 leaves out.
  target_compile_options(spillway_options INTERFACE -march=${SPILLWAY_MARCH} -mpclmul)
endif()
# Two stages, built one after the other by `tools/build pgo`: programs that count what runs, and programs laid out by the
# counts. Both name files from their build folder on, so that one finds what the other wrote.
if(SPILLWAY_PROFILE STREQUAL "train")
  set(profile_options -fprofile-generate=${SPILLWAY_PROFILE_DIR} -fprofile-update=atomic)
elseif(SPILLWAY_PROFILE STREQUAL "use")
  set(profile_options -fprofile-use=${SPILLWAY_PROFILE_DIR} -fprofile-correction -Wno-missing-profile)
endif()
if(profile_options)
  set(CMAKE_CXX_COMPILER_LAUNCHER "")
  target_compile_options(spillway_options INTERFACE ${profile_options} -fprofile-prefix-path=${CMAKE_BINARY_DIR})
  target_link_options(spillway_options INTERFACE ${profile_options})
endif()
if(SPILLWAY_SANITIZE)
  target_compile_options(spillway_options INTERFACE -fsanitize=${SPILLWAY_SANITIZE} -fno-sanitize-recover=all -O1 -g1)
  target_link_options(spillway_options INTERFACE -fsanitize=${SPILLWAY_SANITIZE})
endif()
if(SPILLWAY_FUZZ)
  target_compile_options(spillway_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

set(SPILLWAY_INCLUDES ${PROJECT_SOURCE_DIR}/src/core ${PROJECT_SOURCE_DIR}/src/edge ${PROJECT_SOURCE_DIR}/src)
set(SPILLWAY_VECTORS ${PROJECT_SOURCE_DIR}/../shared/vectors CACHE PATH "Shared test data, used when it is there")

# spillway_test(<name> [SERIAL] SOURCES ... LIBS ...): a GoogleTest program; its cases become CTest cases when tests run.
# SERIAL: beside no other test, for programs that are held to deadlines of milliseconds.
function(spillway_test name)
  cmake_parse_arguments(ARG "SERIAL" "TIMEOUT" "SOURCES;LIBS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(SPILLWAY_SANITIZE)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 5")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE spillway_options ${ARG_LIBS} GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE SPILLWAY_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    SPILLWAY_BINARY_DIR="${PROJECT_BINARY_DIR}" SPILLWAY_VECTORS="${SPILLWAY_VECTORS}")
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST NO_PRETTY_VALUES PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS ${name}
    RUN_SERIAL ${ARG_SERIAL})
endfunction()

# spillway_bench(<name> SOURCES ... LIBS ...): a Google Benchmark program, run tiny under CTest as <name>_smoke. Not with
# sanitizers, which would measure themselves.
function(spillway_bench name)
  if(SPILLWAY_SANITIZE)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE spillway_options ${ARG_LIBS} benchmark::benchmark_main)
  add_test(NAME ${name}_smoke COMMAND ${name} --benchmark_min_time=0.001)
  set_tests_properties(${name}_smoke PROPERTIES LABELS bench TIMEOUT 180)
endfunction()

# spillway_room(<room> DIR <folder> [DEPS rooms...] [LIBS libraries...] [TEST_LIBS libraries...])
function(spillway_room room)
  cmake_parse_arguments(ARG "" "DIR" "DEPS;LIBS;TEST_LIBS" ${ARGN})
  set(dir ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_DIR})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${dir}/*.cc)
  set(tests ${all})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  set(benches ${all})
  list(FILTER benches INCLUDE REGEX "_bench\\.cc$")
  if(SPILLWAY_PURE_ONLY)
    list(FILTER tests EXCLUDE REGEX "_property_test\\.cc$")  # RapidCheck is there for this machine only.
    set(benches "")
  endif()
  set(sources ${all})
  list(FILTER sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cc$")
  list(TRANSFORM ARG_DEPS PREPEND spillway_)
  if(sources)
    add_library(spillway_${room} STATIC ${sources})
    target_link_libraries(spillway_${room} PUBLIC ${ARG_DEPS} ${ARG_LIBS} PRIVATE $<BUILD_INTERFACE:spillway_options>)
    target_include_directories(spillway_${room} PUBLIC "$<BUILD_INTERFACE:${SPILLWAY_INCLUDES}>")
  else()
    add_library(spillway_${room} INTERFACE)
    target_link_libraries(spillway_${room} INTERFACE ${ARG_DEPS} ${ARG_LIBS})
    target_include_directories(spillway_${room} INTERFACE ${SPILLWAY_INCLUDES})
  endif()
  add_library(spillway::${room} ALIAS spillway_${room})
  # Tests that start no thread have nothing to show to ThreadSanitizer.
  if(SPILLWAY_SANITIZE STREQUAL "thread" AND NOT "Threads::Threads" IN_LIST ARG_LIBS AND NOT "Threads::Threads" IN_LIST ARG_TEST_LIBS)
    set(tests "")
  endif()
  if(tests AND NOT SPILLWAY_FUZZ AND NOT SPILLWAY_RESILIENCE_ONLY)
    spillway_test(${room}_test SOURCES ${tests} LIBS spillway_${room} ${ARG_TEST_LIBS})
  endif()
  if(benches AND NOT SPILLWAY_FUZZ AND NOT SPILLWAY_RESILIENCE_ONLY)
    spillway_bench(${room}_bench SOURCES ${benches} LIBS spillway_${room} ${ARG_TEST_LIBS})
  endif()
endfunction()
