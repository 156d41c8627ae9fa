# `cmake --install <build> --component resilience --prefix P`: spillway::resilience for others, found with
# find_package(spillway). Headers lie in P/include/spillway/{base,resilience}.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/spillway)
foreach(room base resilience)
  set_target_properties(spillway_${room} PROPERTIES EXPORT_NAME ${room})
  target_compile_features(spillway_${room} PUBLIC cxx_std_23)
  target_include_directories(spillway_${room} PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/spillway>)
  install(TARGETS spillway_${room} EXPORT spillway COMPONENT resilience
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT resilience)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/src/core/${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/spillway
    COMPONENT resilience FILES_MATCHING PATTERN "*.h" PATTERN "*_test.h" EXCLUDE)
endforeach()
install(EXPORT spillway FILE spillwayTargets.cmake NAMESPACE spillway:: DESTINATION ${config_dir} COMPONENT resilience)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/spillwayConfig.cmake.in
  ${PROJECT_BINARY_DIR}/spillwayConfig.cmake INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/spillwayConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/spillwayConfig.cmake ${PROJECT_BINARY_DIR}/spillwayConfigVersion.cmake
  DESTINATION ${config_dir} COMPONENT resilience)
