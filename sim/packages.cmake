# `cpack` in the build folder: Debian packages of what install.cmake puts into components. cpack finds what shared libraries
# they need (dpkg-shlibdeps, of package dpkg-dev).
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tandem)
set(CPACK_PACKAGE_CONTACT "the authors of tandem <tandem@example.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_COMPONENTS_ALL tandem dev validation)
if(TARGET tandem_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
if(TANDEM_BUILD_PYTHON)
  list(APPEND CPACK_COMPONENTS_ALL python)
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE zstd)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_TANDEM_PACKAGE_NAME tandem)
set(CPACK_COMPONENT_TANDEM_DESCRIPTION "${PROJECT_DESCRIPTION}")

set(same_version "tandem (= ${PROJECT_VERSION})")
set(CPACK_DEBIAN_VALIDATION_PACKAGE_NAME tandem-validation)
set(CPACK_DEBIAN_VALIDATION_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_VALIDATION_PACKAGE_DEPENDS "${same_version}")
set(CPACK_COMPONENT_VALIDATION_DESCRIPTION "Measured runs that tandem's predictions are checked against")

# What tandemConfig.cmake asks for.
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libtandem-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libboost-graph-dev, libfmt-dev, nlohmann-json3-dev, libsimdjson-dev, libsqlite3-dev, libprotobuf-dev, libonnx-dev, libtbb-dev, libisal-dev, libzstd-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "${same_version}")
set(CPACK_COMPONENT_DEV_DESCRIPTION "Headers and static libraries of tandem")

set(CPACK_DEBIAN_MPI_PACKAGE_NAME tandem-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "${same_version}, openmpi-bin")
set(CPACK_COMPONENT_MPI_DESCRIPTION "What tandem loads where mpirun starts it: sweeps over several machines")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tandem)
if(TANDEM_BUILD_PYTHON)
  math(EXPR next_python "${Python_VERSION_MINOR} + 1")
  set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
      "${same_version}, python3 (>= 3.${Python_VERSION_MINOR}~), python3 (<< 3.${next_python}~), python3-pandas")
endif()
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "Python module of tandem")
include(CPack)
