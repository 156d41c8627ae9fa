# cmake -DBUILD=... -DSOURCE=... -DWORK=... -DCXX=... -P library_test.cmake
# Installs the library, builds the examples against it as a stranger would, runs them; then sets up the library alone with
# every other package hidden.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    message(FATAL_ERROR "${ARGV}\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD} --component resilience --prefix ${WORK}/prefix)
file(GLOB_RECURSE inner ${WORK}/prefix/*_test.h)
if(inner)
  message(FATAL_ERROR "installed although only for tests: ${inner}")
endif()
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE}/examples -B ${WORK}/examples -DCMAKE_PREFIX_PATH=${WORK}/prefix
  -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS=-Wall\ -Wextra)
run(${CMAKE_COMMAND} --build ${WORK}/examples)
run(${WORK}/examples/guard_any_client)
if(EXISTS ${WORK}/examples/asio_client)
  run(${WORK}/examples/asio_client)
endif()

set(hidden)
foreach(package simdjson Boost prometheus-cpp yaml-cpp CLI11 spdlog fmt OpenSSL GTest benchmark Threads Python3)
  list(APPEND hidden -DCMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
run(${CMAKE_COMMAND} -G Ninja -S ${SOURCE} -B ${WORK}/alone -DSPILLWAY_RESILIENCE_ONLY=ON -DCMAKE_CXX_COMPILER=${CXX}
  ${hidden})
