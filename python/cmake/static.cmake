# A wheel is to be small and to work where nothing of ours is installed, so what Debian has archives of becomes part of
# the extension: SQLite, CBC with all of COIN-OR, LAPACK and BLAS, and the C++ library. NLopt has no archive, and
# protobuf's cannot be part of a shared object; `auditwheel repair` puts those two beside the extension. Else a wheel
# would carry the whole of OpenBLAS for the few calls that CBC makes.
set(archives CbcSolver Cbc Cgl OsiClp ClpSolver Clp Osi CoinUtils bz2 z lapack blas)
set(coin)
if(AMPERE_PYTHON_STATIC)
  foreach(name IN LISTS archives ITEMS sqlite3)
    find_library(AMPERE_ARCHIVE_${name} lib${name}.a)
    if(NOT AMPERE_ARCHIVE_${name})
      message(STATUS "no lib${name}.a here: shared libraries are linked")
      set(AMPERE_PYTHON_STATIC OFF)
      break()
    endif()
  endforeach()
endif()
set(Protobuf_USE_STATIC_LIBS OFF)
if(AMPERE_PYTHON_STATIC)
  set(SQLite3_LIBRARY ${AMPERE_ARCHIVE_sqlite3})
  list(TRANSFORM archives REPLACE "(.+)" "AMPERE_ARCHIVE_\\1")
  foreach(archive IN LISTS archives)
    list(APPEND coin ${${archive}})
  endforeach()
  find_package(Threads REQUIRED)
  # The name under which the library looks for CBC: what is there already is taken.
  add_library(PkgConfig::CBC INTERFACE IMPORTED GLOBAL)
  set_target_properties(PkgConfig::CBC PROPERTIES INTERFACE_LINK_LIBRARIES "${coin};Threads::Threads;m")
endif()

# What the archives need to be part of a shared object.
function(ampere_link_statically target)
  set(symbols ${CMAKE_CURRENT_SOURCE_DIR}/cmake/symbols.map)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${symbols})
  target_link_options(${target} PRIVATE -Wl,--version-script=${symbols} -Wl,--gc-sections)
  if(AMPERE_PYTHON_STATIC)
    target_sources(${target} PRIVATE bindings/archives.c)
    target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc)
  endif()
endfunction()
