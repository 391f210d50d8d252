/*
 * What every unit test includes. A test file holds tests and nothing to register them:
 *
 *	TEST(sums) { assert_int_equal(1 + 1, 2); }
 *
 * They run in the order of the file, each with cmocka's assertions; main is in the kit. Only for
 * tests; depends on base alone.
 */
#ifndef TEST_KIT_H
#define TEST_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "golden.h"
#include "inject.h"
#include "stride.h"
#include "tree.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NR(a) (sizeof(a) / sizeof((a)[0]))

struct kit_test {
	const char *file; /* that defines it */
	const char *name;
	void (*body)(void);
	struct kit_test *next;
};

#define KIT_ADD(id, function, add)                                                                 \
	static void function(void);                                                                \
	__attribute__((constructor)) static void add_##id(void)                                    \
	{                                                                                          \
		static struct kit_test it = {__BASE_FILE__, #id, function, NULL};                  \
                                                                                                   \
		add(&it);                                                                          \
	}                                                                                          \
	static void function(void)

/* A test: TEST(id) { ... }. Defines test_id, which main calls. */
#define TEST(id) KIT_ADD(id, test_##id, kit_add)

/* What is done before the first test of a file or after its last (before_all, after_all), and
 * around each test (before_each, after_each): HOOK(before_each) { ... }. Defines a function of this
 * name. It may assert. */
#define HOOK(id) KIT_ADD(id, id, kit_add_hook)

/* Ends a test that cannot run here, with the reason: a test skipped without one fails the run. */
#define SKIP(...)                                                                                  \
	do {                                                                                       \
		print_message("skip: " __VA_ARGS__);                                               \
		print_message("\n");                                                               \
		skip();                                                                            \
	} while (0)

/* Adds a test, or a hook, which stays the caller's, to those that kit_run runs. */
void kit_add(struct kit_test *test);
void kit_add_hook(struct kit_test *hook);

/*
 * Runs all tests of the file that is named as the program (argv[0]): files of one room are one
 * program, and each has a link to it. What main returns: 0, the number of failed tests, or 77 if
 * the file has no test for this machine. The kit's main does nothing else: define main only where a
 * program needs more.
 */
int kit_run(const char *program);

#endif
