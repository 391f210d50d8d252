/*
 * What a trace's frames make: of which session's events it is, its times where its end is missing,
 * the times of tasks, notes and readings that have no room.
 */
#include "kit.h"
#include "test_record.h"

#include "base/reading.h"
#include "profile/iterator.h"
#include "trace/reader.h"
#include "trace/writer.h"

#include <sys/stat.h>

enum { FAULTS, INSTRUCTIONS, BOXES, NR_EVENTS, END_BYTES = 80 };

static uint8_t attrs[2][ATTR_BYTES];
static struct trace_event events[NR_EVENTS];
static struct root folder;
static int folder_fd;

static void set_events(void)
{
	static const char *const names[] = {"faults", "instructions", "boxes"};

	for (uint32_t i = 0; i < NR_EVENTS; i++)
		events[i] = (struct trace_event){.id = 100 + i,
						 .kind = EVENT_COUNT,
						 .scope = EVENT_SCOPE_CPU,
						 .state = READING_OK,
						 .group = "test",
						 .name = names[i],
						 .label = names[i],
						 .unit = "x"};
	for (uint32_t i = 0; i < 2; i++) { /* PERF_TYPE_SOFTWARE is 1 */
		attr_bytes(&(struct attr){.type = i ? 0 : 1, .bits = ATTR_INHERIT}, attrs[i]);
		events[i].attr = attrs[i];
		events[i].attr_bytes = ATTR_BYTES;
	}
}

static struct trace_writer *begin(uint32_t trace, uint32_t cpu)
{
	static const struct trace_info info = {.tool = "t"};
	const struct trace_head head = {
	    .trace = trace, .cpu = cpu, .nr_traces = 2, .session_id = {1}};
	struct trace_writer *w = trace_writer_new();

	assert_int_equal(trace_writer_set_common(w, &info, events, NR_EVENTS), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	return w;
}

static void add(struct trace_writer *w, enum trace_boundary boundary, uint32_t event,
		uint32_t instance, uint64_t ns, uint64_t enabled_ns, uint64_t running_ns)
{
	const struct reading r = {.event = event,
				  .instance = instance,
				  .state = READING_OK,
				  .time_ns = ns,
				  .raw = ns,
				  .enabled_ns = enabled_ns,
				  .running_ns = running_ns};

	trace_writer_readings(w, boundary, &r, 1);
}

static void end(struct trace_writer *w, const char *name, bool is_cut)
{
	const struct trace_totals totals = {.start_ns = 100, .end_ns = 200};
	struct stat st;

	assert_int_equal(trace_writer_commit(w, folder_fd, name, name, &totals, NULL), 0);
	trace_writer_free(w);
	assert_int_equal(fstatat(folder_fd, name, &st, 0), 0);
	if (is_cut) {
		int fd = openat(folder_fd, name, O_RDWR | O_CLOEXEC);

		assert_int_equal(ftruncate(fd, st.st_size - END_BYTES), 0);
		close(fd);
	}
}

static void open_folder(void)
{
	set_events();
	folder = tree_make();
	folder_fd = open(folder.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static void remove_folder(void)
{
	close(folder_fd);
	tree_remove(&folder);
}

struct heard {
	unsigned nr;
	char text[4096];
};

static void hear(void *arg, bool is_loss, const struct err *e)
{
	struct heard *h = arg;

	h->nr += is_loss;
	snprintf(h->text, sizeof(h->text), "%s", e->msg);
}

/* Calls check with each trace; their number. */
static unsigned read_all(struct heard *h, void (*check)(const struct profile_trace *t))
{
	char path[sizeof(folder.dir) + 16];
	const struct profile_manifest m = {path, "/elsewhere/s", 1, 2};
	struct profile_iterator *it;
	struct profile_session *s;
	struct profile_trace t;
	unsigned nr = 0;
	int rc;

	*h = (struct heard){.nr = 0};
	snprintf(path, sizeof(path), "%s/s.cpsession", folder.dir);
	assert_int_equal(profile_session_open(&m, hear, h, &s, NULL), 0);
	it = profile_iterator_new(s);
	for (; (rc = profile_iterator_next(it, &t)) == 1; nr++)
		if (check)
			check(&t);
	assert_int_equal(rc, 0);
	profile_iterator_free(it);
	profile_session_close(s);
	return nr;
}

/* A trace whose columns differ in anything but their state would be added up with others. */
TEST(events_of_another_session)
{
	for (int i = 0; i < 8; i++) {
		struct heard h;
		struct trace_writer *w;

		open_folder();
		w = begin(0, 0);
		end(w, "s.0.0.cpuperf", false);
		events[1].state = i == 0 ? READING_LIMIT : READING_OK;
		events[1].id += i == 1;
		events[1].kind = i == 2 ? EVENT_VALUE : EVENT_COUNT;
		events[1].scope = i == 3 ? EVENT_SCOPE_SYSTEM : EVENT_SCOPE_CPU;
		events[1].group = i == 4 ? "other" : "test";
		events[1].name = i == 5 ? "other" : "instructions";
		events[1].label = i == 6 ? "other" : "instructions";
		events[1].unit = i == 7 ? "other" : "x";
		w = begin(1, 1);
		end(w, "s.0.1.cpuperf", false);
		assert_int_equal(read_all(&h, NULL), i ? 1 : 2);
		assert_int_equal(h.nr, i != 0);
		if (i)
			assert_non_null(strstr(h.text, "are not those of the session"));
		remove_folder();
	}
}

static void check_cut(const struct profile_trace *t)
{
	assert_int_equal(t->start_ns, 110);
	assert_int_equal(t->end_ns, 190);
	assert_false(t->is_cut);
	assert_true(t->pairs[FAULTS].has_end && t->pairs[FAULTS].is_tick);
	assert_int_equal(t->pairs[FAULTS].end.raw, 190);
	assert_true(t->further[(BOXES * (PROFILE_MAX_PARTS - 1))].has_end);
}

static void check_whole(const struct profile_trace *t)
{
	assert_int_equal(t->start_ns, 100);
	assert_int_equal(t->end_ns, 200);
	assert_true(t->pairs[FAULTS].has_start && !t->pairs[FAULTS].has_end);
	assert_true(t->pairs[INSTRUCTIONS].has_end);
	assert_int_equal(t->pairs[INSTRUCTIONS].end.raw, 160);
	assert_false(t->further[(BOXES * (PROFILE_MAX_PARTS - 1))].has_end);
}

/* The last tick stands for an end that is missing because the session was killed, not for one that
 * could not be read. */
TEST(ticks_and_ends)
{
	for (int is_cut = 0; is_cut < 2; is_cut++) {
		struct trace_writer *w;
		struct heard h;

		open_folder();
		w = begin(0, TRACE_ANY_CPU);
		add(w, TRACE_START, INSTRUCTIONS, 0, 120, 0, 0);
		add(w, TRACE_START, FAULTS, 0, 110, 0, 0);
		add(w, TRACE_START, BOXES, 0, 130, 0, 0);
		add(w, TRACE_START, BOXES, 1, 130, 0, 0);
		add(w, TRACE_TICK, FAULTS, 0, 140, 0, 0);
		add(w, TRACE_TICK, FAULTS, 0, 190, 0, 0);
		add(w, TRACE_TICK, BOXES, 1, 150, 0, 0);
		add(w, TRACE_END, INSTRUCTIONS, 0, 160, 0, 0);
		add(w, TRACE_TICK, INSTRUCTIONS, 0, 170, 0, 0); /* out of order: the end holds */
		end(w, "s.0.0.cpuperf", is_cut);
		assert_int_equal(read_all(&h, is_cut ? check_cut : check_whole), 1);
		remove_folder();
	}
}

/* The time of a CPU's events of tasks is that in which these ran there: an event of the kernel that
 * did not run has counted all, and others were never multiplexed. */
static void check_tasks(const struct profile_trace *t)
{
	bool is_on_cpu = t->head.cpu != TRACE_ANY_CPU;

	assert_int_equal(t->pairs[FAULTS].end.enabled_ns, is_on_cpu ? 0 : 90);
	assert_int_equal(t->pairs[FAULTS].end.running_ns, is_on_cpu ? 0 : 10);
	assert_int_equal(t->pairs[INSTRUCTIONS].end.enabled_ns, is_on_cpu ? 60 : 80);
	assert_int_equal(t->pairs[INSTRUCTIONS].end.running_ns, 60);
	assert_int_equal(t->pairs[BOXES].end.enabled_ns, 80);
}

TEST(times_of_tasks)
{
	struct heard h;

	open_folder();
	for (uint32_t i = 0; i < 2; i++) {
		struct trace_writer *w = begin(i, i ? TRACE_ANY_CPU : 3);

		add(w, TRACE_START, FAULTS, 0, 100, 30, 10);
		add(w, TRACE_END, FAULTS, 0, 190, 90, 10);
		add(w, TRACE_START, INSTRUCTIONS, 0, 100, 10, 5);
		add(w, TRACE_END, INSTRUCTIONS, 0, 190, 80, 60);
		add(w, TRACE_START, BOXES, 0, 100, 10, 5);
		add(w, TRACE_END, BOXES, 0, 190, 80, 60);
		end(w, i ? "s.0.1.cpuperf" : "s.0.0.cpuperf", false);
	}
	assert_int_equal(read_all(&h, check_tasks), 2);
	assert_int_equal(h.nr, 0);
	remove_folder();
}

static void check_notes(const struct profile_trace *t)
{
	assert_int_equal(t->nr_notes, PROFILE_MAX_NOTES);
	assert_string_equal(t->notes[0], "0");
}

/* What has no room is reported. */
TEST(too_many_notes)
{
	struct trace_writer *w;
	struct heard h;

	open_folder();
	w = begin(0, 0);
	for (unsigned i = 0; i <= PROFILE_MAX_NOTES; i++)
		trace_writer_note(w, &(struct trace_note){1, i ? "more" : "0"});
	end(w, "s.0.0.cpuperf", false);
	w = begin(1, 1);
	end(w, "s.0.1.cpuperf", false);
	assert_int_equal(read_all(&h, NULL), 2);
	assert_int_equal(h.nr, 1);
	assert_non_null(strstr(h.text, "more notes"));
	tree_drop(&folder, "/s.0.1.cpuperf");
	assert_int_equal(read_all(&h, check_notes), 1);
	remove_folder();
}

static struct trace_function called(uint32_t event, uint64_t calls)
{
	return (struct trace_function){.event = event,
				       .way = TRACE_FUNCTION_KERNEL,
				       .bits = TRACE_HISTOGRAM_BITS,
				       .calls = calls,
				       .name = "f",
				       .object = "/o"};
}

static void check_functions(const struct profile_trace *t)
{
	size_t nr = t->head.trace ? 0 : PROFILE_MAX_FUNCTIONS;

	assert_int_equal(t->nr_functions, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(t->functions[i].function.calls, i + 1);
}

/* One of an event that is not there is skipped and reported; so are those beyond the limit, once.
 */
TEST(functions)
{
	struct trace_function f = called(NR_EVENTS, 1);
	struct trace_writer *w;
	struct heard h;

	open_folder();
	w = begin(0, 0);
	trace_writer_function(w, &f);
	for (unsigned i = 1; i <= PROFILE_MAX_FUNCTIONS + 2; i++) {
		f = called(i % NR_EVENTS, i);
		trace_writer_function(w, &f);
	}
	end(w, "s.0.0.cpuperf", false);
	w = begin(1, 1);
	end(w, "s.0.1.cpuperf", false);
	assert_int_equal(read_all(&h, check_functions), 2);
	assert_int_equal(h.nr, 2);
	assert_non_null(strstr(h.text, "more functions than can be stored"));
	remove_folder();
}

static void check_values(const struct profile_trace *t)
{
	size_t nr = t->head.trace ? 0 : PROFILE_MAX_VALUES;

	assert_int_equal(t->nr_values, nr);
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(t->values[i].value.calls, i + 1);
}

/* The same of values of calls. */
TEST(values)
{
	struct trace_value v = {
	    .event = NR_EVENTS, .name = "f", .object = "/o", .field_name = "size", .text = ""};
	struct trace_writer *w;
	struct heard h;

	open_folder();
	w = begin(0, 0);
	trace_writer_value(w, &v);
	for (unsigned i = 1; i <= PROFILE_MAX_VALUES + 2; i++) {
		v.event = i % NR_EVENTS;
		v.calls = i;
		trace_writer_value(w, &v);
	}
	end(w, "s.0.0.cpuperf", false);
	w = begin(1, 1);
	end(w, "s.0.1.cpuperf", false);
	assert_int_equal(read_all(&h, check_values), 2);
	assert_int_equal(h.nr, 2);
	assert_non_null(strstr(h.text, "more values of calls than can be stored"));
	remove_folder();
}
