/*
 * What the tests of the source of processes share: a source that is open, and its things by pid.
 * Only for tests.
 */
#ifndef TEST_COLLECT_PROCESS_H
#define TEST_COLLECT_PROCESS_H

#include "kit.h"

#include "process/process.h"

#include <linux/sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BIT(field) (1u << (field))

enum { ALL_FIELDS = (1 << PROCESS_NR_FIELDS) - 1, MAX_WORDS = 4 };

static const struct things_source *const source = &process_source;

static inline int try_open(const struct root *r, const char *const *words, uint32_t wanted,
			   void **out, struct err *e)
{
	struct things_choice choice = {.words = words};

	while (choice.nr < MAX_WORDS && words && words[choice.nr])
		choice.nr++;
	return source->open(r, &choice, wanted, out, e);
}

static inline void *start(const struct root *r, const char *const *words, uint32_t wanted)
{
	void *state = NULL;
	struct err e = {0};

	if (try_open(r, words, wanted, &state, &e))
		fail_msg("%s", e.msg);
	return state;
}

static inline void read_all(void *state)
{
	assert_int_equal(source->read(state), 0);
}

/* False if it is not there. */
static inline bool find(const void *state, unsigned pid, struct things_one *out)
{
	for (size_t i = 0; i < source->nr(state); i++) {
		struct things_one t;

		source->get(state, i, &t);
		if (strtoul(t.name, NULL, 10) != pid)
			continue;
		*out = t;
		return true;
	}
	return false;
}

static inline struct things_one get(const void *state, unsigned pid)
{
	struct things_one t = {0};

	if (!find(state, pid, &t))
		fail_msg("there is no process %u", pid);
	return t;
}

static inline uint64_t value(const void *state, unsigned pid, enum process_field field)
{
	struct things_one t = get(state, pid);

	if (t.values && t.has & BIT(field))
		return t.values[field];
	fail_msg("%s has no field %u", t.name, field);
	return 0;
}

/* A process of that number; -1 if we may not choose it. */
static inline pid_t start_as(pid_t number)
{
	struct clone_args args = {
	    .exit_signal = SIGCHLD,
	    .set_tid = (uint64_t)(uintptr_t)&number,
	    .set_tid_size = 1,
	};
	pid_t pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return pid;
}

#endif
