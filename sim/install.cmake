# What `cmake --install` puts where, and `cpack` into which package (packages.cmake). Libraries register themselves in tandem_library() for the
# export set tandem-targets; here are the program, the headers, the data and the CMake package.
include(CMakePackageConfigHelpers)
set(tandem_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
set(tandem_share_dir ${CMAKE_INSTALL_DATADIR}/tandem)

if(TARGET tandem_cli)
  install(TARGETS tandem_cli COMPONENT tandem)
endif()

foreach(folder sim models workloads validation)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem COMPONENT dev
            FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN captures EXCLUDE
            PATTERN cases EXCLUDE PATTERN fits EXCLUDE)
  endif()
endforeach()

# install_data(FOLDER COMPONENT ...): the program finds these next to itself: bin/tandem -> ../share/tandem.
function(install_data folder component)
  cmake_path(GET folder PARENT_PATH parent)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${tandem_share_dir}/${parent} COMPONENT ${component} ${ARGN})
  endif()
endfunction()
# The measured runs are a package of their own, save the one that `tandem demo` replays.
set(demo_folder validation/captures/h200_2026-11-20_fit/traces)
set(demo_trace resnet50-train-amp-eager-b32)
install_data(configs tandem)
install_data(workloads/nets tandem)
install_data(docs/schema tandem)
install_data(validation/captures validation REGEX "/${demo_trace}[.](json[.]zst|meta[.]json)$" EXCLUDE)
install_data(validation/cases validation)
install_data(validation/claims validation)
install(FILES ${PROJECT_SOURCE_DIR}/${demo_folder}/${demo_trace}.json.zst ${PROJECT_SOURCE_DIR}/${demo_folder}/${demo_trace}.meta.json
        DESTINATION ${tandem_share_dir}/${demo_folder} COMPONENT tandem OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/docs/guide.md
              ${PROJECT_SOURCE_DIR}/docs/accuracy.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tandem)

# Before 1.0 a minor version may change the interface, hence SameMinorVersion.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tandemConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/tandemConfig.cmake
                              INSTALL_DESTINATION ${tandem_package_dir})
install(FILES ${PROJECT_BINARY_DIR}/tandemConfig.cmake ${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake
        DESTINATION ${tandem_package_dir} COMPONENT dev)
install(EXPORT tandem-targets NAMESPACE tandem:: FILE tandemTargets.cmake
        DESTINATION ${tandem_package_dir} COMPONENT dev)
include(${CMAKE_CURRENT_LIST_DIR}/packages.cmake)
