/* What Debian's archives of COIN-OR, LAPACK, bzip2 and the C++ library look for, inside the extension.

   They are compiled for programs, not for shared objects, and reach the standard streams by an address that
   must lie nearby; so the extension has variables of these names, which are the C library's streams. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

struct Stream; /* FILE; <stdio.h> would declare the C library's own variables */
struct Stream* stdin;
struct Stream* stdout;
struct Stream* stderr;

static struct Stream* stream(const char* name) {
  struct Stream** const found = (struct Stream**)dlsym(RTLD_DEFAULT, name);
  return found ? *found : NULL;
}

/* Before the constructors of C++ objects, which may use them. */
__attribute__((constructor(101))) static void take_streams(void) {
  stdin = stream("stdin");
  stdout = stream("stdout");
  stderr = stream("stderr");
}

/* LAPACK calls this when it is called wrongly; its own prints, and takes the Fortran library for that. */
void xerbla_(const char* routine, const int* argument, size_t length) {
  (void)routine;
  (void)argument;
  (void)length;
}

/* The C++ library takes its random numbers from this function, the one thing of glibc 2.36 that it needs;
   with our own, wheels work with 2.35 too, which Ubuntu 22.04 has. */
uint32_t arc4random(void) {
  uint32_t number = 0;
  while (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
  }
  return number;
}
