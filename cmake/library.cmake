# One library of all that ampere can do, for C++ programs: ampere::ampere, in the build and once installed
# (docs/library.md). It holds the objects of every folder's own library; those stay, for the tests.
find_package(SQLite3 REQUIRED)
find_package(NLopt REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(CBC REQUIRED IMPORTED_TARGET cbc)

set(objects)
foreach(folder IN LISTS AMPERE_WORKER_FOLDERS AMPERE_BRAIN_FOLDERS)
  list(APPEND objects $<TARGET_OBJECTS:ampere_${folder}>)
endforeach()
add_library(libampere STATIC ${objects} $<TARGET_OBJECTS:ampere_duktape>)
add_library(ampere::ampere ALIAS libampere)
set_target_properties(libampere PROPERTIES OUTPUT_NAME ampere EXPORT_NAME ampere LINKER_LANGUAGE CXX)
target_include_directories(libampere INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                               $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_compile_features(libampere INTERFACE cxx_std_20)
# What a program that links the static library must link behind it. Headers of other libraries are in none of ours.
target_link_libraries(libampere PRIVATE SQLite::SQLite3 NLopt::nlopt protobuf::libprotobuf-lite PkgConfig::CBC
                                        Threads::Threads ${CMAKE_DL_LIBS} m)
if(AMPERE_POSTGRESQL)
  target_link_libraries(libampere PRIVATE PkgConfig::PQXX)
  set(AMPERE_PC_POSTGRESQL " libpqxx")
endif()
if(AMPERE_SANITIZE)
  target_compile_options(libampere INTERFACE $<BUILD_INTERFACE:-fsanitize=${AMPERE_SANITIZE}>)
  target_link_options(libampere INTERFACE $<BUILD_INTERFACE:-fsanitize=${AMPERE_SANITIZE}>)
endif()

include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/ampere)
install(TARGETS libampere EXPORT ampere ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(EXPORT ampere NAMESPACE ampere:: FILE ampere-targets.cmake DESTINATION ${package} COMPONENT dev)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ampere DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN *.h)
configure_file(cmake/ampere-config.cmake.in ${PROJECT_BINARY_DIR}/ampere-config.cmake @ONLY)
# While the first number is 0, a new second number may change the headers.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ampere-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/ampere-config.cmake ${PROJECT_BINARY_DIR}/ampere-config-version.cmake
        DESTINATION ${package} COMPONENT dev)
# Found from where the file itself is, so that a whole installation can be moved.
file(RELATIVE_PATH AMPERE_PC_TO_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(cmake/ampere.pc.in ${PROJECT_BINARY_DIR}/ampere.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ampere.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
