/*
 * Lines of readings and regions for the kernel's tracer: their form, limits, and the instance.
 */
#include "kit.h"

#include "base/buf.h"
#include "base/root.h"
#include "marks/tracefs.h"
#include "tree.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLACE "/sys/kernel/tracing"

static struct root root;
static struct tracefs *t;

HOOK(before_each)
{
	root = tree_make();
	t = NULL;
	tree_text(&root, PLACE "/trace_marker", "");
	tree_text(&root, PLACE "/tracing_on", "1\n");
}

HOOK(after_each)
{
	tracefs_close(t);
	tree_remove(&root);
}

static void open_global(void)
{
	struct err e = {0};

	assert_int_equal(tracefs_open(&root, true, &t, &e), 0);
}

/* A real one is a line for each write: here they follow each other. */
static void expect(const char *path, const char *want)
{
	BUF_AUTO(text, 1 << 22);

	assert_int_equal(root_load(&root, path, &text), 0);
	assert_string_equal(buf_str(&text), want);
}

static size_t count(char kind)
{
	const char pattern[] = {kind, '|', '7', '|', '\0'};
	BUF_AUTO(text, 1 << 22);
	size_t nr = 0;

	assert_int_equal(root_load(&root, PLACE "/trace_marker", &text), 0);
	for (const char *p = buf_str(&text); (p = strstr(p, pattern)); p++)
		nr++;
	return nr;
}

TEST(lines_have_their_form)
{
	const struct tracefs_slice slice = {7, 8, 0}, inner = {7, 8, 1};

	open_global();
	tracefs_begin(t, &slice, "a|b\n");
	tracefs_begin(t, &inner, "c");
	tracefs_end(t, &inner);
	tracefs_end(t, &inner); /* it is not open */
	tracefs_instant(t, 7, "here");
	tracefs_counter(t, 9, "n", -3);
	tracefs_counter(t, 9, "x", 0.25);
	tracefs_counter(t, 9, "y", NAN);
	tracefs_end(t, &slice);
	expect(PLACE "/trace_marker", "S|7|a?b?|1024S|7|c|1025F|7|c|1025I|7|hereC|9|n|-3"
				      "C|9|x|0.250000F|7|a?b?|1024");
	assert_int_equal(tracefs_nr_dropped(t), 0);
}

TEST(open_slices_end)
{
	const struct tracefs_slice slice = {7, 8, 0};

	open_global();
	tracefs_begin(t, &slice, "a");
	tracefs_begin(t, &slice, "b"); /* the end of a was lost */
	tracefs_close(t);
	t = NULL;
	expect(PLACE "/trace_marker", "S|7|a|1024F|7|a|1024S|7|b|1024F|7|b|1024");
}

TEST(the_rate_is_limited)
{
	open_global();
	for (uint32_t i = 0; i < 5000; i++)
		tracefs_begin(t, &(struct tracefs_slice){7, i, 0}, "a");
	for (uint32_t i = 0; i < 5000; i++)
		tracefs_end(t, &(struct tracefs_slice){7, i, 0});
	/* a new second may begin meanwhile */
	assert_in_range(count('S'), TRACEFS_GLOBAL_LIMIT / 2, 5 * TRACEFS_GLOBAL_LIMIT / 2);
	assert_int_equal(count('S'), count('F'));
	assert_int_equal(tracefs_nr_dropped(t), 2 * (5000 - count('S')));
}

TEST(nothing_is_written_while_tracing_is_off)
{
	tree_text(&root, PLACE "/tracing_on", "0\n");
	open_global();
	tracefs_begin(t, &(struct tracefs_slice){7, 8, 0}, "a");
	tracefs_end(t, &(struct tracefs_slice){7, 8, 0});
	tracefs_instant(t, 7, "b");
	expect(PLACE "/trace_marker", "");
	assert_int_equal(tracefs_nr_dropped(t), 0);
}

TEST(an_instance_is_made_and_removed)
{
	char own[128], path[256];
	struct err e = {0};

	snprintf(own, sizeof(own), PLACE "/instances/cpuperf-%d", getpid());
	snprintf(path, sizeof(path), "%s/trace_marker", own);
	tree_put(&root, PLACE "/instances/cpuperf-999999", NULL, 0);
	tree_put(&root, PLACE "/instances/cpuperf-12", NULL, 0);
	tree_put(&root, PLACE "/instances/other", NULL, 0);
	tree_put(&root, "/proc/12", NULL, 0);
	/* the kernel makes these files in an instance */
	assert_int_equal(tracefs_open(&root, false, &t, &e), -ENOENT);
	assert_int_equal(root_open(&root, own), -ENOENT);
	assert_int_equal(root_open(&root, PLACE "/instances/cpuperf-999999"), -ENOENT);
	assert_int_equal(close(root_open(&root, PLACE "/instances/cpuperf-12")), 0);
	assert_int_equal(close(root_open(&root, PLACE "/instances/other")), 0);
	tree_text(&root, path, "");
	assert_int_equal(tracefs_open(&root, false, &t, &e), 0);
	tracefs_instant(t, 7, "a");
	expect(path, "I|7|a");
}

TEST(there_may_be_no_tracefs)
{
	struct err e = {0};

	tree_drop(&root, "/sys");
	assert_int_equal(tracefs_open(&root, false, &t, &e), -ENOENT);
	assert_non_null(
	    strstr(e.msg, "not supported: /sys/kernel/tracing: tracefs is not mounted"));
}
