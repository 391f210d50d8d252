/*
 * The states of objects of a process that runs: this one is the program, and may be hostile.
 */
#include "kit.h"

#include "base/root.h"
#include "cpuperf/mark.h"
#include "marks/marked.h"
#include "wire/wire.h"

#include <sys/wait.h>

static void on_name(void *arg, uint32_t number, const char *text)
{
	(void)arg, (void)number, (void)text;
}

static void on_marks(void *arg, const struct wire_marks *m)
{
	(void)arg, (void)m;
}

HOOK(before_each)
{
	cpuperf_mark_state_2 = (struct cpuperf_mark_state){.magic = CPUPERF_MARK_MAGIC,
							   .version = CPUPERF_MARK_VERSION};
}

/* Looks at this process, and returns what it found. */
static struct marked look(void)
{
	struct marked m;

	marked_init(&m, &root_live, 7);
	assert_int_equal(marked_look(&m, (uint32_t)getpid()), 0);
	return m;
}

TEST(a_word_is_set_and_unset)
{
	struct marked m = look();

	assert_int_equal(cpuperf_mark_state_2.on, 7);
	assert_true(marked_has(&m, (uint32_t)getpid()));
	assert_int_equal(m.words.nr, 1);
	assert_int_equal(marked_look(&m, (uint32_t)getpid()), 0);
	assert_int_equal(m.words.nr, 1);
	marked_end(&m);
	assert_int_equal(cpuperf_mark_state_2.on, 0);
	marked_fini(&m);
}

TEST(a_connected_object_ends_by_itself)
{
	struct marked m = look();

	cpuperf_mark_state_2.connected = 7;
	marked_end(&m);
	assert_int_equal(cpuperf_mark_state_2.on, 7);
	cpuperf_mark_state_2.connected = 0;
	cpuperf_mark_state_2.on = 8; /* another recorder's */
	marked_end(&m);
	assert_int_equal(cpuperf_mark_state_2.on, 8);
	marked_fini(&m);
}

TEST(another_version_is_not_written)
{
	struct marked m;

	cpuperf_mark_state_2.version++;
	m = look();
	assert_int_equal(m.nr_old, 1);
	assert_int_equal(cpuperf_mark_state_2.on, 0);
	assert_false(marked_has(&m, (uint32_t)getpid()));
	marked_fini(&m);
}

TEST(other_content_is_not_written)
{
	struct marked m;

	cpuperf_mark_state_2.magic++;
	m = look();
	assert_int_equal(m.words.nr, 0);
	assert_int_equal(cpuperf_mark_state_2.on, 0);
	marked_fini(&m);
}

TEST(the_word_of_a_recorder_that_listens_is_left)
{
	const struct wire_config config = {.name = on_name, .marks = on_marks};
	struct err e = {0};
	struct marked m;
	struct wire *w;

	assert_int_equal(wire_open(&config, &w, &e), 0);
	cpuperf_mark_state_2.on = wire_number(w);
	m = look();
	assert_int_equal(m.nr_busy, 1);
	assert_int_equal(cpuperf_mark_state_2.on, wire_number(w));
	marked_fini(&m);
	wire_free(w);
	m = look(); /* it is gone */
	assert_int_equal(cpuperf_mark_state_2.on, 7);
	marked_fini(&m);
}

/* Whole pages, with what lies between variables: also what a sanitizer needs to be called. */
__attribute__((no_sanitize("address", "thread"))) static void
copy_pages(volatile char *to, const volatile char *from, size_t len)
{
	for (size_t i = 0; i < len; i++)
		to[i] = from[i];
}

/* Another private mapping lies there, or the data is shared: other processes' memory. */
TEST(a_state_outside_of_the_objects_data_is_not_written)
{
	const uintptr_t page = (uintptr_t)&cpuperf_mark_state_2 & ~(uintptr_t)4095;
	const size_t len = (((uintptr_t)(&cpuperf_mark_state_2 + 1) - page - 1) | 4095) + 1;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		char copy[2 * 4096];
		struct marked m;

		copy_pages(copy, (void *)page, len);
		if (mmap((void *)page, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
			_exit(2);
		copy_pages((void *)page, copy, len);
		marked_init(&m, &root_live, 7);
		(void)marked_look(&m, (uint32_t)getpid());
		_exit(cpuperf_mark_state_2.on == 0 && m.words.nr == 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

TEST(a_process_that_is_gone_is_an_error)
{
	struct marked m;

	marked_init(&m, &root_live, 7);
	assert_true(marked_look(&m, 1u << 30) < 0);
	marked_fini(&m);
}
