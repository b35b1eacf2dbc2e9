# Debian packages: ampere, ampere-worker and libampere-dev. scripts/package makes them, in build/packages.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # packs what was built; scripts/package builds what it needs
set(components)
if(AMPERE_BRAIN)
  list(APPEND components ampere dev)
endif()
if(AMPERE_WORKER)
  list(APPEND components worker)
endif()
set(CPACK_DEBIAN_AMPERE_PACKAGE_NAME ampere)
set(CPACK_DEBIAN_WORKER_PACKAGE_NAME ampere-worker)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libampere-dev)
foreach(component IN LISTS components)
  string(TOUPPER ${component} upper)
  set(docs ${CMAKE_INSTALL_DATADIR}/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME})
  install(FILES LICENSE DESTINATION ${docs} RENAME copyright COMPONENT ${component})
  install(FILES NOTICE CHANGELOG.md DESTINATION ${docs} COMPONENT ${component})
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ampere)
set(CPACK_PACKAGE_CONTACT "The AMPERE developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Predicts the energy of training neural networks")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL ${components})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)  # of the programs, by dpkg-shlibdeps
if(CMAKE_CROSSCOMPILING)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)
  # Where it looks for libraries; what it knows of them is in DEBIAN/ of that folder (tools/make_sysroot).
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
endif()
set(CPACK_DEBIAN_AMPERE_PACKAGE_SECTION science)
set(CPACK_DEBIAN_AMPERE_PACKAGE_DEPENDS coinor-libcbc3)  # loaded when it is needed (src/schedule/cbc.h)
set(CPACK_DEBIAN_AMPERE_PACKAGE_RECOMMENDS ampere-worker)  # which may be on another machine
set(CPACK_DEBIAN_WORKER_PACKAGE_SECTION science)
# The steadiest of the libraries that LibTorch computes with (docs/measuring_well.md).
set(CPACK_DEBIAN_WORKER_PACKAGE_RECOMMENDS libopenblas0-openmp)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
# What a program that links the static library links, too (cmake/library.cmake).
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libsqlite3-dev, libnlopt-dev, libnlopt-cxx-dev, libprotobuf-dev, coinor-libcbc-dev, pkg-config")
if(AMPERE_POSTGRESQL)
  string(APPEND CPACK_DEBIAN_DEV_PACKAGE_DEPENDS ", libpqxx-dev")
endif()
set(CPACK_COMPONENT_AMPERE_DESCRIPTION
    "How many joules will it take to train this network on this device?\nThe program that answers before anyone trains it.")
set(CPACK_COMPONENT_WORKER_DESCRIPTION
    "Trains the layers of networks with LibTorch and meters them, for ampere on\nthis machine or on another.")
set(CPACK_COMPONENT_DEV_DESCRIPTION
    "The static library, headers, CMake package and pkg-config file, for C++\nprograms that estimate the energy of training.")
include(CPack)
