/*
 * Sources that a session calls by their rows: when each function is called, and when not.
 */
#include "kit.h"
#include "test_session.h"

#include "inject.h"
#include "marks/marks.h"
#include "session/source_uses.h"

static char calls[64];
static int open_result, begin_result;

static void note_call(const struct source_use *u, char what)
{
	const size_t len = strlen(calls);

	snprintf(calls + len, sizeof(calls) - len, "%c%c", *u->source->name, what);
}

static int open_one(struct source_use *u, struct err *e)
{
	note_call(u, 'o');
	return open_result ? err_set(e, open_result, "no %s", u->source->name) : 0;
}

static void close_one(struct source_use *u)
{
	note_call(u, 'c');
}

static int begin_one(struct source_use *u)
{
	note_call(u, 'b');
	return begin_result;
}

static void read_one(struct source_use *u, uint64_t now_ns)
{
	note_call(u, now_ns == 7 ? 'r' : '?');
}

static void enable_one(struct source_use *u, size_t event, bool is_enabled)
{
	note_call(u, event == 1 && is_enabled ? 'e' : '?');
}

static bool has_switches(const struct plan *plan)
{
	return !plan;
}

static void explain(const struct plan *plan, const struct plan_event *p, struct event_support *out)
{
	(void)plan;
	(void)p;
	out->hint[0] = '!';
}

static bool is_wanted(const struct plan *plan)
{
	return !plan;
}

static const char *socket_of(const struct source_use *u)
{
	return u->source->name;
}

static size_t end_one(struct source_use *u, const char **notes, size_t room)
{
	note_call(u, room ? 'E' : '?');
	*notes = u->source->name;
	return 1;
}

#define ROW                                                                                        \
	.bytes = sizeof(struct source_use), .open = open_one, .close = close_one,                  \
	.begin = begin_one, .read = read_one, .end = end_one, .socket = socket_of
static const struct source a = {.name = "a", ROW, .variable = "A", .enable = enable_one},
			   b = {.name = "b", ROW, .variable = "B", .stays_open = true},
			   refused = {.name = "r",
				      ROW,
				      .variable = "R",
				      .has_switches = has_switches,
				      .explain = explain},
			   wanted = {.name = "w", ROW, .variable = "W", .is_wanted = is_wanted};

static struct source_use use_a, use_b, *uses[2], *of_event[2];
static struct source_uses s;

static void use(const struct source *first, const struct source *second)
{
	use_a = (struct source_use){.source = first};
	use_b = (struct source_use){.source = second};
	uses[0] = of_event[1] = &use_a;
	uses[1] = &use_b;
	s = (struct source_uses){.use = uses, .nr = 2, .of_event = of_event};
	open_result = begin_result = 0;
	*calls = '\0';
}

static void assert_calls(const char *want)
{
	assert_string_equal(calls, want);
	*calls = '\0';
}

/* A second call opens nothing again; one whose target has changed is opened anew, one that stays is
 * not. */
TEST(opened_once)
{
	use(&a, &b);
	assert_int_equal(source_uses_open(&s, NULL), 0);
	assert_int_equal(source_uses_open(&s, NULL), 0);
	assert_calls("aobo");
	source_uses_close(&s);
	assert_calls("ac");
	assert_int_equal(source_uses_open(&s, NULL), 0);
	assert_calls("ao");
	assert_string_equal(source_uses_socket(&s, "B"), "b");
	assert_null(source_uses_socket(&s, "C"));
}

/* Nothing of one that is closed is called, nor what a row does not have. */
TEST(only_open_ones_are_called)
{
	const char *notes[2] = {NULL};

	use(&a, &b);
	source_uses_read(&s, 7);
	source_uses_enable(&s, 1, true);
	assert_int_equal(source_uses_end(&s, notes, 2), 0);
	assert_calls("");
	assert_int_equal(source_uses_open(&s, NULL), 0);
	source_uses_read(&s, 7);
	source_uses_enable(&s, 1, true);
	source_uses_enable(&s, 0, true); /* the first source's */
	source_uses_done(&s);
	assert_calls("aoboarbrae");
	assert_int_equal(source_uses_end(&s, notes, 2), 2);
	assert_string_equal(notes[1], "b");
	assert_calls("aEbE");
	begin_result = -EIO;
	assert_int_equal(source_uses_begin(&s), -EIO);
	assert_calls("ab");
}

/* The reason is kept, and it is not tried again. Without memory the session fails. */
TEST(refused)
{
	struct plan_event event = {.set = PLAN_ALONE};
	const struct plan plan = {.events = &event, .nr_events = 1};
	struct event_support why = {.state = READING_OK};

	use(&refused, &b);
	open_result = -EPERM;
	assert_int_equal(source_uses_open(&s, NULL), 0);
	assert_int_equal(source_uses_open(&s, NULL), 0);
	assert_calls("robo");
	assert_true(source_uses_have_switches(&s));
	use_a.plan = &plan;
	assert_false(source_uses_have_switches(&s));
	of_event[0] = &use_a;
	source_uses_explain(&s, 0, &why);
	of_event[0] = NULL;
	assert_int_equal(why.state, READING_NO_PERMISSION);
	assert_string_equal(why.reason, "no r");
	assert_int_equal(why.hint[0], '!');
	source_uses_read(&s, 7);
	assert_calls("");

	use(&a, &b);
	open_result = -ENOMEM;
	assert_int_equal(source_uses_open(&s, NULL), -ENOMEM);
	assert_calls("ao");
}

/* One that no event needs is refused by an error of the session. */
TEST(wanted_without_events)
{
	struct err e = {0};

	use(&wanted, &b);
	open_result = -EINVAL;
	assert_int_equal(source_uses_open(&s, &e), -EINVAL);
	assert_string_equal(e.msg, "no w");
	assert_calls("wo");
}

static uint32_t two_sets(const struct source_use *u)
{
	(void)u;
	return 2;
}

static uint32_t set_of(const struct source_use *u, size_t event)
{
	(void)u;
	return event == 2 ? UINT32_MAX : 1;
}

static size_t nr_things(const struct source_use *u, uint32_t set)
{
	note_call(u, set == 1 ? '1' : '?');
	return 5;
}

static uint64_t every_ns(const struct source_use *u, size_t event)
{
	(void)u;
	return event;
}

static const char *next_note(struct source_use *u)
{
	note_call(u, 'n');
	return *u->source->name == 'v' ? NULL : "!";
}

static const struct source_values values = {.nr_sets = two_sets,
					    .set = set_of,
					    .nr_things = nr_things,
					    .every_ns = every_ns,
					    .note = next_note};
static const struct source v = {.name = "v", ROW, .values = &values},
			   x = {.name = "x", ROW, .values = &values};

/* Sets of two sources have numbers of their own; an event of a single value has none, nor does one
 * that no source reads. */
TEST(sets_of_values)
{
	struct source_use *of[] = {&use_a, &use_b, &use_b, NULL};

	use(&v, &x);
	s.of_event = of;
	s.nr_events = 4;
	assert_int_equal(source_uses_nr_sets(&s), 0); /* not open */
	assert_int_equal(source_uses_open(&s, NULL), 0);
	assert_int_equal(source_uses_nr_sets(&s), 4);
	assert_int_equal(source_uses_set(&s, 0), 1);
	assert_int_equal(source_uses_set(&s, 1), 3);
	assert_int_equal(source_uses_set(&s, 2), UINT32_MAX);
	assert_int_equal(source_uses_set(&s, 3), UINT32_MAX);
	assert_int_equal(source_uses_first_of(&s, 3), 1);
	assert_int_equal(source_uses_every_ns(&s, 1), 1);
	assert_int_equal(source_uses_every_ns(&s, 3), 0);
	*calls = '\0';
	assert_int_equal(source_uses_nr_things(&s, 3), 5);
	assert_calls("x1");
	assert_int_equal(source_uses_nr_things(&s, 4), 0);
	assert_string_equal(source_uses_note(&s), "!");
	assert_calls("vnxn");
}

/* What a source does not have is not called: a value alone, without things. */
TEST(values_alone)
{
	static const struct source_values none = {.get = NULL};
	static const struct source alone = {.name = "l", ROW, .values = &none};
	struct source_use *of[] = {&use_a};

	use(&alone, &v);
	s.of_event = of;
	s.nr_events = 1;
	assert_int_equal(source_uses_open(&s, NULL), 0);
	assert_int_equal(source_uses_nr_sets(&s), 2); /* of the other one */
	assert_int_equal(source_uses_set(&s, 0), UINT32_MAX);
	assert_int_equal(source_uses_every_ns(&s, 0), 0);
	assert_null(source_uses_way(&s, 0));
	assert_null(source_uses_note(&s));
	assert_false(source_uses_sample(&s, 0, 0, NULL));
	assert_false(source_uses_clock(&s, 0, 0, NULL));
	source_uses_settle(&s);
	source_uses_flush(&s);
}

/* What it refuses is of the spec: the session cannot be opened. */
TEST(values_are_needed)
{
	struct err e = {0};

	use(&v, &b);
	open_result = -EINVAL;
	assert_int_equal(source_uses_open(&s, &e), -EINVAL);
	assert_string_equal(e.msg, "no v");
}

static int init(void *rig)
{
	struct source_uses of_plan = {.nr = 0};
	int rc = source_uses_init(&of_plan, &((struct rig *)rig)->plan);

	if (rc == 0) {
		assert_int_equal(of_plan.nr, 2);
		assert_ptr_equal(of_plan.of_event[0], of_plan.of_event[2]);
		assert_null(of_plan.of_event[1]);
		assert_string_equal(of_plan.of_event[3]->source->name, "latency");
	}
	source_uses_fini(&of_plan);
	return rc;
}

/* One for all events of a source; none for what the kernel counts. */
TEST(of_a_plan)
{
	struct rig rig;

	rig_init(&rig, 1, "",
		 EV("heap", "live") EV("software", "page_faults") EV("resource", "fd_opened")
		     EV("latency", "run_queue"));
	inject_every(init, &rig, 4, 0);
	rig_fini(&rig);
}

/* Without traces nothing would receive them, so no program is asked to write marks. */
TEST(marks_need_traces)
{
	struct rig rig;

	rig_init(&rig, 1, "\"regions\":true,", EV("software", "page_faults"));
	assert_false(marks_source.is_wanted(&rig.plan));
	rig.spec.output_path_prefix = "trace";
	assert_true(marks_source.is_wanted(&rig.plan));
	rig.spec.regions.is_wanted = false;
	assert_false(marks_source.is_wanted(&rig.plan));
	rig_fini(&rig);
}
