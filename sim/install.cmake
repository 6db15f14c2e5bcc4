# What `cmake --install` puts where. Libraries register themselves in tandem_library() for the
# export set tandem-targets; here are the program, the headers, the data and the CMake package.
include(CMakePackageConfigHelpers)
set(tandem_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tandem)
set(tandem_share_dir ${CMAKE_INSTALL_DATADIR}/tandem)

if(TARGET tandem_cli)
  install(TARGETS tandem_cli)
endif()

foreach(folder sim models workloads validation)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem
            FILES_MATCHING PATTERN "*.h" PATTERN "*.def" PATTERN captures EXCLUDE
            PATTERN cases EXCLUDE PATTERN fits EXCLUDE)
  endif()
endforeach()

# The program finds these next to itself: bin/tandem -> ../share/tandem.
foreach(folder configs validation/captures validation/cases validation/claims workloads/nets docs/schema)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    cmake_path(GET folder PARENT_PATH parent)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} DESTINATION ${tandem_share_dir}/${parent})
  endif()
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/NOTICE ${PROJECT_SOURCE_DIR}/docs/guide.md
              ${PROJECT_SOURCE_DIR}/docs/accuracy.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Before 1.0 a minor version may change the interface, hence SameMinorVersion.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/tandemConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/tandemConfig.cmake
                              INSTALL_DESTINATION ${tandem_package_dir})
install(FILES ${PROJECT_BINARY_DIR}/tandemConfig.cmake ${PROJECT_BINARY_DIR}/tandemConfigVersion.cmake
        DESTINATION ${tandem_package_dir})
install(EXPORT tandem-targets NAMESPACE tandem:: FILE tandemTargets.cmake
        DESTINATION ${tandem_package_dir})
