/*
 * Threads whose stack does not depend on the limit of the main thread's (ulimit -s), and conditions
 * that wait by CLOCK_MONOTONIC.
 *
 * Stacks may be limited to 64 KiB (ulimit -s 64). So large objects are on the heap or static, and
 * are cleared with memset, as a compound literal is a temporary on the stack without optimisation.
 * Test system_small_stack runs both programs so.
 */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include <pthread.h>
#include <stdint.h>

/* Starts a thread with a stack of 8 MiB, of which only what it uses is in memory. 0 or -errno. */
int thread_start(pthread_t *thread, void *(*fn)(void *arg), void *arg);
/* The same, with all signals blocked. */
int thread_start_blocked(pthread_t *thread, void *(*fn)(void *arg), void *arg);

/* 0 or -errno; end it by pthread_cond_destroy. */
int thread_cond_init(pthread_cond_t *cond);
/* Waits for a signal, at most until that time on CLOCK_MONOTONIC (UINT64_MAX: without limit). May
 * return early. 0 or -ETIMEDOUT. */
int thread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t until_ns);

#endif
