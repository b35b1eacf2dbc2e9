# Toolchain for Debian 12 arm64, from a machine of another kind: Debian's cross compiler, and the libraries of a folder
# that tools/make_sysroot has filled. scripts/package --arch arm64 does all of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

set(AMPERE_SYSROOT ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot/arm64 CACHE PATH "Folder with the libraries to link")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES AMPERE_SYSROOT)
get_filename_component(CMAKE_SYSROOT ${AMPERE_SYSROOT} ABSOLUTE)
if(NOT EXISTS ${CMAKE_SYSROOT}/usr/include)
  message(FATAL_ERROR "${CMAKE_SYSROOT} has no libraries to link; make it with: scripts/package --arch arm64")
endif()

# Libraries and headers are those of the folder, programs those of this machine.
set(CMAKE_FIND_ROOT_PATH ${CMAKE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_DIR} "")
set(ENV{PKG_CONFIG_LIBDIR} ${CMAKE_SYSROOT}/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pkgconfig:${CMAKE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${CMAKE_SYSROOT})

# What is built says its own manual page, and tests run here, too.
find_program(AMPERE_QEMU qemu-aarch64-static)
if(AMPERE_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${AMPERE_QEMU} -L ${CMAKE_SYSROOT})
endif()
