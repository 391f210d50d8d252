/*
 * Which formulas a session's events make, and what their metrics are called.
 */
#include "kit.h"

#include "counts/formulas.h"
#include "trace/trace.h"

#include "base/arena.h"
#include "base/err.h"

/* An event as a trace describes it. */
#define EVENT(group_, name_, flags_, state_)                                                       \
	{                                                                                          \
		.group = group_, .name = name_, .flags = flags_, .state = state_                   \
	}

enum { OS = 1, USER = 2, MAX_BYTES = 4 << 20 };

static const struct metric *find(const struct metric_set *set, const char *name)
{
	for (size_t i = 0; i < set->nr; i++)
		if (strcmp(set->item[i].name, name) == 0)
			return &set->item[i];
	return NULL;
}

static struct metric_set join(struct arena *a, const struct metric_set *metrics,
			      const struct trace_event *events, size_t nr)
{
	struct metric_set out;
	struct err e = {0};

	assert_int_equal(counts_formulas_join(metrics, events, nr, a, &out, &e), 0);
	return out;
}

TEST(operands_are_places)
{
	static const struct trace_event events[] = {
	    EVENT("software", "page_faults", 0, READING_OK),
	    EVENT("fixed", "unhalted_core_cycles", 0, READING_OK),
	    EVENT("arch", "instructions_retired", 0, READING_OK),
	    EVENT("misc", "memory_bytes_read", 0, READING_OK),
	};
	const struct metric_set none = {NULL, 0};
	struct metric_set out;
	struct arena a;
	const struct metric *m;

	arena_init(&a, MAX_BYTES);
	out = join(&a, &none, events, NR(events));
	m = find(&out, "ipc");
	assert_non_null(m);
	for (size_t i = 0, operand = 2; i < m->expr.nr_steps; i++) {
		if (m->expr.steps[i].op != EXPR_OPERAND)
			continue;
		assert_int_equal(m->expr.steps[i].operand, operand);
		operand = 1;
	}
	assert_null(m->warn_below.text); /* what is usual is for the report */
	assert_non_null(find(&out, "page_faults/1M"));
	assert_string_equal(find(&out, "memory_read")->unit, "GB/s");
	assert_null(find(&out, "memory_bandwidth")); /* nothing says what was written */
	assert_null(find(&out, "frequency_ratio"));
	assert_int_equal(out.nr, 3);
	arena_fini(&a);
}

/* What is not measured, of other modes, or already there under the name, makes none. */
TEST(what_makes_none)
{
	static const struct {
		struct trace_event events[2];
		const char *ipc;
	} cases[] = {
	    {{EVENT("fixed", "instructions_retired", 0, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", 0, READING_OK)},
	     "ipc"},
	    {{EVENT("fixed", "instructions_retired", 0, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", 0, READING_NOT_SUPPORTED)},
	     NULL},
	    {{EVENT("fixed", "instructions_retired", 0, READING_NOT_SUPPORTED),
	      EVENT("fixed", "unhalted_core_cycles", 0, READING_OK)},
	     NULL},
	    {{EVENT("fixed", "instructions_retired", USER, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", USER, READING_OK)},
	     "ipc user"},
	    {{EVENT("fixed", "instructions_retired", OS, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", OS, READING_OK)},
	     "ipc kernel"},
	    {{EVENT("fixed", "instructions_retired", USER, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", OS, READING_OK)},
	     NULL},
	    {{EVENT("fixed", "instructions_retired", OS | USER, READING_OK),
	      EVENT("fixed", "unhalted_core_cycles", 0, READING_OK)},
	     "ipc"},
	};
	const struct metric mine = {.name = "ipc", .warn_below = {"1", 1}};
	const struct metric_set none = {NULL, 0}, one = {&mine, 1};

	for (size_t i = 0; i < NR(cases); i++) {
		struct metric_set out;
		struct arena a;

		arena_init(&a, MAX_BYTES);
		out = join(&a, &none, cases[i].events, 2);
		assert_int_equal(out.nr, cases[i].ipc != NULL);
		if (cases[i].ipc)
			assert_string_equal(out.item[0].name, cases[i].ipc);
		out = join(&a, &one, cases[i].events, 2);
		assert_string_equal(out.item[0].name, "ipc");
		assert_string_equal(out.item[0].warn_below.text, "1"); /* the spec's own */
		assert_int_equal(out.nr, 1 + (cases[i].ipc && strcmp(cases[i].ipc, "ipc") != 0));
		arena_fini(&a);
	}
}

/* The report sums over iterations: formulas by time are not for it. */
TEST(by_time)
{
	static const struct trace_event events[] = {
	    EVENT("misc", "memory_bytes_read", 0, READING_OK),
	    EVENT("misc", "memory_bytes_written", 0, READING_OK)};
	struct counts_formulas *f;
	struct err e = {0};
	struct arena a;

	arena_init(&a, MAX_BYTES);
	f = arena_alloc(&a, sizeof(*f));
	assert_int_equal(counts_formulas_make(events, 2, false, &a, f, &e), 0);
	assert_int_equal(f->nr, 0);
	assert_int_equal(counts_formulas_make(events, 2, true, &a, f, &e), 0);
	assert_int_equal(f->nr, 3);
	arena_fini(&a);
}

TEST(no_memory)
{
	static const struct trace_event events[] = {
	    EVENT("software", "page_faults", 0, READING_OK)};
	const struct metric_set none = {NULL, 0};
	int rc = -ENOMEM;

	for (unsigned n = 1; rc; n++) {
		struct metric_set out;
		struct err e = {0};
		struct arena a;

		arena_init(&a, MAX_BYTES);
		inject_mem(n);
		rc = counts_formulas_join(&none, events, 1, &a, &out, &e);
		arena_fini(&a);
		assert_int_equal(inject.nr_live, 0);
		inject_stop();
		assert_true(rc == 0 || rc == -ENOMEM);
	}
}
