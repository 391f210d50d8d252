/*
 * Threads whose stack does not depend on the limit of the main thread's (ulimit -s).
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>

/* Starts a thread with a stack of 8 MiB, of which only what it uses is in memory. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg);

#endif
