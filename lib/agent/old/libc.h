/*
 * What the agents call of the C library, as old as it can be: they are loaded into programs of
 * other systems, whose C library may be older than that of the build, and a program that loads what
 * needs a newer one ends. With this they need that of 2012 (2.17). No agent calls what came since,
 * but by a weak symbol.
 *
 * The compiler includes it before each of their files (-include).
 */
#ifndef AGENT_OLD_LIBC_H
#define AGENT_OLD_LIBC_H

#include <features.h>
#include <sys/syscall.h>

struct stat;
/* No header of functions: some files declare their own. */
extern long syscall(long number, ...) __attribute__((nothrow));

/* Functions that have moved into libc.so.6 since: by the version of their name that all have. */
#if defined(__GLIBC__) && defined(__x86_64__)
#define OLD_LIBC_FIRST  "GLIBC_2.2.5"
#define OLD_LIBC_DLOPEN "GLIBC_2.2.5"
#elif defined(__GLIBC__) && defined(__i386__)
#define OLD_LIBC_FIRST  "GLIBC_2.0"
#define OLD_LIBC_DLOPEN "GLIBC_2.1"
#endif
#ifdef OLD_LIBC_FIRST
#ifndef OLD_LIBC_OWN_DLOPEN /* that of experiments defines it */
__asm__(".symver dlopen, dlopen@" OLD_LIBC_DLOPEN);
#endif
__asm__(".symver dlsym, dlsym@" OLD_LIBC_FIRST);
__asm__(".symver dladdr, dladdr@" OLD_LIBC_FIRST);
__asm__(".symver dladdr1, dladdr1@GLIBC_2.3.3");
__asm__(".symver pthread_key_create, pthread_key_create@" OLD_LIBC_FIRST);
__asm__(".symver pthread_setspecific, pthread_setspecific@" OLD_LIBC_FIRST);
#ifndef OLD_LIBC_OWN_FCNTL /* that of the heap defines it */
__asm__(".symver fcntl64, fcntl@" OLD_LIBC_FIRST);
#endif
#endif

/* The kernel fills the structure of the C library, whose own functions have names since 2.33. */
#ifdef SYS_fstatat64
#define OLD_FSTAT   SYS_fstat64
#define OLD_FSTATAT SYS_fstatat64
#else
#define OLD_FSTAT   SYS_fstat
#define OLD_FSTATAT SYS_newfstatat
#endif

static inline int old_fstat(int fd, struct stat *st)
{
	return (int)syscall(OLD_FSTAT, fd, st);
}

static inline int old_stat(const char *path, struct stat *st)
{
	return (int)syscall(OLD_FSTATAT, -100 /* AT_FDCWD */, path, st, 0);
}

#define fstat(fd, st)  old_fstat(fd, st)
#define stat(path, st) old_stat(path, st)

#endif
