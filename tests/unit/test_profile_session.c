/*
 * Sessions in a folder of their own: whole, with files missing, cut, damaged and foreign. Rows say
 * what is done to a session of three iterations and two traces, and what must be said of it.
 */
#include "kit.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/sys.h"
#include "profile/iterator.h"
#include "trace/writer.h"

#include <sys/stat.h>

enum { NR_ITERATIONS = 3, NR_TRACES = 2, MAX_FILE_BYTES = 1 << 16 };

static char dir[64], manifest_path[96];

static const struct trace_event events[] = {
    {.id = 5 << 11 | 1,
     .kind = EVENT_COUNT,
     .scope = EVENT_SCOPE_CPU,
     .state = READING_OK,
     .group = "software",
     .name = "cpu_clock",
     .label = "cpu_clock",
     .unit = "ns",
     .description = "",
     .source = "",
     .reason = ""},
    {.id = 4 << 11 | 2,
     .kind = EVENT_VALUE,
     .scope = EVENT_SCOPE_SYSTEM,
     .state = READING_OK,
     .group = "misc",
     .name = "memory_used",
     .label = "memory_used",
     .unit = "B",
     .description = "",
     .source = "",
     .reason = ""},
};

static struct trace_info info = {.tool = "t", .kernel = "k", .config_name = "c"};

/* What differs from trace to trace. */
struct make {
	uint8_t session;
	uint32_t iteration, trace; /* as the header has it */
	size_t nr_events;
};

static uint32_t foreign_event, foreign_instance; /* of one reading more, if not 0 */

static void write_trace(const char *name, const struct make *m)
{
	struct trace_head head = {.iteration = m->iteration,
				  .trace = m->trace,
				  .cpu = 2 * m->trace,
				  .nr_traces = NR_TRACES,
				  .host = "h"};
	struct reading r[2] = {{.event = 0, .state = READING_OK},
			       {.event = 1, .state = READING_OK}};
	struct clock_triple clocks = {1000, 1000, 5000};
	struct trace_totals totals = {.start_ns = 100 * m->iteration,
				      .end_ns = 100 * m->iteration + 100};
	struct trace_writer *w = trace_writer_new();
	int fd = open(dir, O_RDONLY | O_DIRECTORY);

	memset(head.session_id, m->session, sizeof(head.session_id));
	assert_int_equal(trace_writer_set_common(w, &info, events, m->nr_events), 0);
	assert_int_equal(trace_writer_begin(w, &head), 0);
	r[0].raw = 10, r[0].time_ns = totals.start_ns + 1;
	trace_writer_readings(w, TRACE_START, r, 1);
	r[0].raw = 30 + m->trace, r[0].time_ns = totals.start_ns + 90;
	r[1].raw = 77;
	trace_writer_readings(w, TRACE_END, r, m->trace == 0 ? 2 : 1);
	r[1].event = foreign_event, r[1].instance = foreign_instance;
	if (foreign_event || foreign_instance)
		trace_writer_readings(w, TRACE_END, &r[1], 1);
	trace_writer_clocks(w, &clocks);
	trace_writer_note(w, &(struct trace_note){1, "hello"});
	assert_int_equal(trace_writer_commit(w, fd, name, name, &totals, NULL), 0);
	trace_writer_free(w);
	close(fd);
}

static void path_of(const char *name, char path[160])
{
	snprintf(path, 160, "%s/%s", dir, name);
}

/* Rewrites a file's bytes: cut to len, and one of them changed. */
static void edit(const char *name, double keep, double flip)
{
	static char bytes[MAX_FILE_BYTES];
	char path[160];
	size_t len;
	FILE *f;

	path_of(name, path);
	f = fopen(path, "r+");
	assert_non_null(f);
	len = fread(bytes, 1, sizeof(bytes), f);
	if (flip >= 0) {
		bytes[(size_t)(flip * (double)len)] ^= 0x55;
		rewind(f);
		assert_int_equal(fwrite(bytes, 1, len, f), len);
	}
	fflush(f);
	assert_int_equal(ftruncate(fileno(f), (off_t)(keep * (double)len)), 0);
	fclose(f);
}

static void unlink_one(const char *name)
{
	char path[160];

	path_of(name, path);
	assert_int_equal(unlink(path), 0);
}

static void create_empty(const char *name)
{
	char path[160];
	int fd;

	path_of(name, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static void nothing(void)
{
}

static void lose_one(void)
{
	unlink_one("s.1.1.cpuperf");
}

static void lose_last_iteration(void)
{
	unlink_one("s.2.0.cpuperf");
	unlink_one("s.2.1.cpuperf");
}

static void lose_first_iteration(void)
{
	unlink_one("s.0.0.cpuperf");
	unlink_one("s.0.1.cpuperf");
}

static void cut_one(void)
{
	edit("s.1.0.cpuperf", 0.9, -1);
}

static void cut_header(void)
{
	edit("s.0.0.cpuperf", 0.1, -1);
}

static void empty_one(void)
{
	edit("s.0.0.cpuperf", 0, -1);
}

static void damage_header(void)
{
	edit("s.0.0.cpuperf", 1, 0.02);
}

/* The events of the first trace are gone: those of the others serve. */
static void damage_events(void)
{
	edit("s.0.0.cpuperf", 1, 0.5);
}

static void damage_readings(void)
{
	edit("s.2.0.cpuperf", 1, 0.7);
}

static void mix_sessions(void)
{
	write_trace("s.2.1.cpuperf", &(struct make){9, 2, 1, 2});
}

/* Another session has begun with the same prefix. */
static void replace_first(void)
{
	write_trace("s.0.0.cpuperf", &(struct make){9, 0, 0, 2});
	write_trace("s.0.1.cpuperf", &(struct make){9, 0, 1, 2});
}

static void leave_strays(void)
{
	write_trace("s.3.0.cpuperf", &(struct make){9, 3, 0, 2});
	write_trace("s.0.2.cpuperf", &(struct make){9, 0, 2, 2});
	write_trace("s.007.0.cpuperf", &(struct make){1, 7, 0, 2}); /* never a name of ours */
	write_trace("other.0.0.cpuperf", &(struct make){9, 0, 0, 2});
}

/* The session goes on where its session file ends, and an older one behind it. */
static void go_on(void)
{
	write_trace("s.3.0.cpuperf", &(struct make){1, 3, 0, 2});
	write_trace("s.4.0.cpuperf", &(struct make){9, 4, 0, 2});
}

static void rename_one(void)
{
	write_trace("s.1.0.cpuperf", &(struct make){1, 0, 0, 2});
}

static void other_events(void)
{
	write_trace("s.1.0.cpuperf", &(struct make){1, 1, 0, 1});
}

static void rewrite(uint32_t event, uint32_t instance)
{
	foreign_event = event, foreign_instance = instance;
	write_trace("s.1.0.cpuperf", &(struct make){1, 1, 0, 2});
	foreign_event = foreign_instance = 0;
}

static void unknown_event(void)
{
	rewrite(2, 0);
}

static void far_event(void)
{
	rewrite(UINT32_MAX, 0);
}

static void instance(void)
{
	rewrite(0, PROFILE_MAX_PARTS);
}

static void a_folder(void)
{
	char path[160];

	unlink_one("s.1.0.cpuperf");
	path_of("s.1.0.cpuperf", path);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void a_fifo(void)
{
	char path[160];

	unlink_one("s.1.0.cpuperf");
	path_of("s.1.0.cpuperf", path);
	assert_int_equal(mkfifo(path, 0600), 0);
}

#define ID_1 "01010101010101010101010101010101"
#define ID_7 "07070707070707070707070707070707"

static const struct scene {
	const char *name;
	void (*act)(void);
	uint64_t num_iterations, num_traces;
	size_t nr_traces, nr_losses, nr_notes;
	const char *said; /* in one of the problems; NULL: there is none */
	const char *id;   /* that the session file gives */
} scenes[] = {
    {"whole", nothing, 3, 2, 6, 0, 0, NULL},
    {"numbers not given", nothing, 0, 0, 6, 0, 0, NULL},
    {"one missing", lose_one, 3, 2, 5, 1, 0, "iteration 1 has no trace 1 (of 0-1)"},
    {"one missing, not given", lose_one, 0, 0, 5, 1, 0, "iteration 1 has no trace 1 (of 0-1)"},
    {"killed in the last", lose_last_iteration, 3, 2, 4, 1, 0,
     "no traces of iteration 2 (of 0-2): it is the last one: the session was "
     "killed, ran out of disk space"},
    {"first missing", lose_first_iteration, 3, 2, 4, 1, 0, "no traces of iteration 0 (of 0-2)"},
    {"claims too much", nothing, UINT64_MAX, UINT64_MAX, 6, 4, 0,
     "no traces of iteration 3-18446744073709551614"},
    {"claims too many traces", nothing, 3, 1000000000, 6, 3, 0,
     "iteration 2 has no trace 2-999999999"},
    {"cut", cut_one, 3, 2, 6, 1, 0, "s.1.0.cpuperf"},
    {"cut header", cut_header, 3, 2, 5, 1, 0, "s.0.0.cpuperf"},
    {"empty file", empty_one, 3, 2, 5, 1, 0, "s.0.0.cpuperf"},
    {"damaged header", damage_header, 3, 2, 5, 1, 0, "s.0.0.cpuperf"},
    {"damaged events", damage_events, 3, 2, 6, 1, 0, "s.0.0.cpuperf: damaged"},
    {"damaged readings", damage_readings, 3, 2, 6, 1, 0, "s.2.0.cpuperf: damaged"},
    {"another session's", mix_sessions, 3, 2, 5, 1, 0, "s.2.1.cpuperf: a trace of another session"},
    {"strays", leave_strays, 3, 2, 6, 0, 1,
     "s.0.2.cpuperf: not of this session: ignored, as is 1 more file "
     "up to s.3.0.cpuperf"},
    {"older behind newer", go_on, 3, 2, 6, 0, 2,
     "s.3.0.cpuperf: belongs to this session, but exceeds the counts in "
     "its session file: ignored: the session file is an older copy, or "
     "the session is still running\ns.4.0.cpuperf: not of this session: "
     "ignored: another session with the same prefix"},
    {"renamed", rename_one, 3, 2, 5, 1, 0, "its header names another iteration or trace"},
    {"other events", other_events, 3, 2, 5, 1, 0, "its events are not those of the session"},
    {"unknown event", unknown_event, 3, 2, 6, 1, 0, "1 reading of unknown events"},
    {"far event", far_event, 3, 2, 6, 1, 0, "1 reading of unknown events"},
    {"instance", instance, 3, 2, 6, 1, 0, "1 reading of unknown events"},
    {"a folder", a_folder, 3, 2, 5, 1, 0, "s.1.0.cpuperf"},
    {"a fifo", a_fifo, 3, 2, 5, 1, 0, "s.1.0.cpuperf"},
    {"fewer iterations", nothing, 2, 2, 4, 0, 1,
     "s.2.0.cpuperf: belongs to this session, but exceeds the counts in "
     "its session file: ignored, as is 1 "},
    {"fewer traces", nothing, 3, 1, 3, 0, 1,
     "s.0.1.cpuperf: belongs to this session, but exceeds the counts in "
     "its session file"},
    {"whole, with id", nothing, 3, 2, 6, 0, 0, NULL, ID_1},
    {"first replaced", replace_first, 3, 2, 4, 2, 0, "s.0.0.cpuperf: a trace of another session",
     ID_1},
    {"first replaced, and numbers not given", replace_first, 0, 0, 4, 2, 0,
     "s.0.1.cpuperf: a trace of another session", ID_1},
    {"its manifest is behind it", go_on, 3, 2, 7, 2, 1,
     "the session did not end: it was killed, or is still running", ID_1},
    {"older behind newer, with id", go_on, 3, 2, 7, 2, 1,
     "s.4.0.cpuperf: not of this session: ignored: another session with the same prefix", ID_1},
    {"damaged header, with id", damage_header, 3, 2, 5, 1, 0, "s.0.0.cpuperf", ID_1},
};

struct told {
	size_t nr_losses, nr_notes;
	char text[8192];
};

static void take(void *arg, bool is_loss, const struct err *e)
{
	struct told *t = arg;
	size_t len = strlen(t->text);

	*(is_loss ? &t->nr_losses : &t->nr_notes) += 1;
	snprintf(t->text + len, sizeof(t->text) - len, "%s: %s: %s\n", e->source, e->msg, e->hint);
}

static void make_session(void)
{
	char command[128], name[64];

	snprintf(dir, sizeof(dir), "/tmp/cpuperf-profile-%d", (int)getpid());
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	snprintf(manifest_path, sizeof(manifest_path), "%s/s.cpsession", dir);
	for (uint32_t i = 0; i < NR_ITERATIONS; i++)
		for (uint32_t t = 0; t < NR_TRACES; t++) {
			snprintf(name, sizeof(name), "s.%u.%u.cpuperf", i, t);
			write_trace(name, &(struct make){1, i, t, 2});
		}
}

HOOK(after_all)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	assert_int_equal(system(command), 0);
}

static struct profile_session *open_session(const struct scene *c, struct told *told)
{
	const struct profile_manifest m = {manifest_path, "/elsewhere/s", c->num_iterations,
					   c->num_traces, c->id};
	struct profile_session *s = NULL;
	struct err e = {0};

	if (profile_session_open(&m, take, told, &s, &e))
		fail_msg("%s: %s", c->name, e.msg);
	return s;
}

/* What is read is right, in order, whatever is missing. */
static size_t read_traces(const struct scene *c, struct profile_session *s)
{
	struct profile_iterator *it = profile_iterator_new(s);
	struct profile_trace t;
	size_t nr = 0;
	uint32_t last = 0;
	int rc;

	for (; (rc = profile_iterator_next(it, &t)) == 1; nr++) {
		uint32_t place = t.head.iteration * NR_TRACES + t.head.trace;

		if ((nr && place <= last) || t.head.session_id[0] != 1 ||
		    t.head.cpu != 2 * t.head.trace || strcmp(t.events[0].name, "cpu_clock"))
			fail_msg("%s: trace %zu is wrong", c->name, nr);
		if (t.pairs[0].has_end && (t.pairs[0].end.raw != 30 + t.head.trace ||
					   t.pairs[0].end_offset == t.pairs[0].start_offset))
			fail_msg("%s: readings of trace %zu", c->name, nr);
		if (t.pairs[0].has_end && t.end_ns < t.pairs[0].end.time_ns)
			fail_msg("%s: no time in trace %zu", c->name, nr);
		last = place;
	}
	profile_iterator_free(it);
	assert_int_equal(rc, 0);
	return nr;
}

TEST(scenes_are_told)
{
	for (size_t i = 0; i < sizeof(scenes) / sizeof(scenes[0]); i++) {
		const struct scene *c = &scenes[i];
		struct told told = {0};
		struct profile_session *s;
		size_t nr;

		make_session();
		c->act();
		s = open_session(c, &told);
		nr = read_traces(c, s);
		profile_session_close(s);
		if (nr != c->nr_traces || told.nr_losses != c->nr_losses ||
		    told.nr_notes != c->nr_notes || (c->said && !strstr(told.text, c->said)))
			fail_msg("%s: %zu traces, %zu losses, %zu notes:\n%s", c->name, nr,
				 told.nr_losses, told.nr_notes, told.text);
	}
}

TEST(one_trace_has_all)
{
	struct told told = {0};
	struct profile_session *s;
	struct profile_iterator *it;
	struct profile_trace t;

	make_session();
	s = open_session(&scenes[0], &told);
	assert_int_equal(profile_session_facts(s)->nr_iterations, NR_ITERATIONS);
	assert_int_equal(profile_session_facts(s)->nr_traces, NR_TRACES);
	assert_int_equal(profile_session_facts(s)->max_rows, NR_TRACES);
	assert_int_equal(profile_session_facts(s)->nr_events, 2);
	assert_string_equal(profile_session_facts(s)->info->config_name, "c");
	it = profile_iterator_new(s);
	assert_int_equal(profile_iterator_next(it, &t), 1);
	assert_string_equal(t.name, "s.0.0.cpuperf");
	assert_int_equal(t.pairs[0].start.raw, 10);
	assert_int_equal(t.pairs[1].end.raw, 77);
	assert_false(t.pairs[1].has_start);
	assert_int_equal(t.end_ns, 100);
	assert_true(t.has_clocks && t.clocks.realtime_ns == 5000);
	assert_int_equal(t.nr_notes, 1);
	assert_string_equal(t.notes[0], "hello");
	assert_int_equal(profile_iterator_next(it, &t), 1);
	assert_int_equal(t.head.trace, 1);
	assert_false(t.pairs[1].has_end); /* nothing is left of the trace before */
	profile_iterator_free(it);
	profile_session_close(s);
}

/* In progress: of an iteration that the manifest does not list as ended, traces may be made while
 * the folder is read. */
TEST(traces_made_meanwhile_are_no_loss)
{
	for (uint64_t nr_listed = 1; nr_listed <= NR_ITERATIONS; nr_listed++) {
		const struct profile_manifest m = {.path = manifest_path,
						   .output_path_prefix = "s",
						   .num_iterations = nr_listed,
						   .num_traces = NR_TRACES,
						   .session_id = ID_1,
						   .is_recording = true,
						   .is_in_progress = true};
		struct told told = {0};
		struct profile_session *s;

		make_session();
		lose_one();
		assert_int_equal(profile_session_open(&m, take, &told, &s, NULL), 0);
		assert_int_equal(profile_session_facts(s)->nr_iterations, NR_ITERATIONS);
		assert_int_equal(told.nr_losses, nr_listed > 2);
		profile_session_close(s);
	}
}

/* The same of what an older session left, up to the moment when the file is written anew. */
TEST(older_traces_are_no_loss_in_progress)
{
	for (unsigned i = 0; i < 4; i++) {
		const bool is_last = i % 2, is_in_progress = i / 2;
		const struct profile_manifest m = {.path = manifest_path,
						   .output_path_prefix = "s",
						   .num_iterations = NR_ITERATIONS,
						   .num_traces = NR_TRACES,
						   .session_id = ID_1,
						   .is_recording = is_in_progress,
						   .is_in_progress = is_in_progress};
		struct told told = {0};
		struct profile_session *s;
		struct profile_iterator *it;
		struct profile_trace t;

		make_session();
		if (is_last)
			mix_sessions();
		else
			replace_first();
		assert_int_equal(profile_session_open(&m, take, &told, &s, NULL), 0);
		it = profile_iterator_new(s);
		while (profile_iterator_next(it, &t) == 1)
			;
		assert_int_equal(told.nr_losses > 0, !is_last || !is_in_progress);
		profile_iterator_free(it);
		profile_session_close(s);
	}
}

/* A session with this many iterations removed; is_recording: it may remove more. */
static struct profile_session *open_removed(uint64_t nr_removed, bool is_recording,
					    struct told *told)
{
	const struct profile_manifest m = {.path = manifest_path,
					   .output_path_prefix = "s",
					   .num_iterations = NR_ITERATIONS,
					   .num_traces = NR_TRACES,
					   .is_recording = is_recording,
					   .is_in_progress = is_recording,
					   .nr_removed = nr_removed,
					   .removed_begin = "then",
					   .removed_end = "later"};
	struct profile_session *s;

	*told = (struct told){0};
	assert_int_equal(profile_session_open(&m, take, told, &s, NULL), 0);
	return s;
}

static size_t read_on(const struct profile_session *s, uint32_t first)
{
	struct profile_iterator *it = profile_iterator_new(s);
	struct profile_trace t;
	size_t nr = 0;

	while (profile_iterator_next(it, &t) == 1) {
		assert_int_equal(t.head.iteration, first + nr / NR_TRACES);
		nr++;
	}
	profile_iterator_free(it);
	return nr;
}

/* Iterations that the manifest says were removed are neither missing nor, if they are still there,
 * read. */
TEST(removed)
{
	struct profile_session *s;
	struct told told;

	make_session();
	unlink_one("s.0.0.cpuperf");
	s = open_removed(1, false, &told);
	assert_int_equal(read_on(s, 1), 4);
	assert_string_equal(profile_session_facts(s)->removed,
			    "iteration 0 was removed (retain): then to later");
	profile_session_close(s);
	assert_int_equal(told.nr_losses, 0);
	assert_int_equal(told.nr_notes, 1);
	s = open_removed(2, false, &told);
	assert_int_equal(read_on(s, 2), 2);
	assert_int_equal(profile_session_facts(s)->nr_removed, 2);
	profile_session_close(s);
	assert_non_null(strstr(told.text, "iterations 0 to 1 were removed (retain)"));
	assert_int_equal(told.nr_losses, 0);
	assert_int_equal(told.nr_notes, 1);
}

/* A session that goes on removes iterations after its manifest was read, or while they are read. */
TEST(removed_meanwhile)
{
	static const char gone[] = "were removed (retain) while they were read";
	struct profile_iterator *it;
	struct profile_session *s;
	struct profile_trace t;
	struct told told;

	info.spec_json = "{\"retain\":{\"iterations\":3}}";
	make_session();
	info.spec_json = NULL;
	unlink_one("s.0.0.cpuperf");    /* and CPU 1 will be */
	create_empty("s.s1.0.cpuperf"); /* its header is not written yet */
	s = open_removed(0, true, &told);
	assert_int_equal(told.nr_losses, 0);
	assert_int_equal(told.nr_notes, 1);
	assert_non_null(strstr(told.text, gone));
	it = profile_iterator_new(s);
	assert_int_equal(profile_iterator_next(it, &t), 1);
	assert_int_equal(t.head.iteration, 1);
	unlink_one("s.1.1.cpuperf");
	assert_int_equal(profile_iterator_next(it, &t), 1);
	assert_int_equal(t.head.iteration, 2);
	assert_int_equal(told.nr_losses, 0);
	assert_int_equal(told.nr_notes, 2);
	profile_iterator_free(it);
	profile_session_close(s);
	/* in a session that has ended, that is a loss */
	unlink_one("s.s1.0.cpuperf");
	s = open_removed(0, false, &told);
	assert_null(strstr(told.text, gone));
	assert_int_equal(told.nr_losses, 2);
	profile_session_close(s);
}

/* Iterators do not move each other; one can be set to any iteration. */
TEST(iterators)
{
	struct profile_iterator *a, *b;
	struct profile_session *s;
	struct profile_trace t;
	struct told told = {0};

	make_session();
	s = open_session(&scenes[0], &told);
	a = profile_iterator_new(s);
	b = profile_iterator_new(s);
	assert_int_equal(profile_iterator_ahead(a), 0);
	assert_int_equal(profile_iterator_next(a, &t), 1);
	profile_iterator_seek(b, 1);
	assert_int_equal(profile_iterator_ahead(b), 1);
	assert_int_equal(profile_iterator_next(b, &t), 1);
	assert_string_equal(t.name, "s.1.0.cpuperf");
	assert_int_equal(profile_iterator_next(a, &t), 1);
	assert_string_equal(t.name, "s.0.1.cpuperf");
	profile_iterator_free(a);
	profile_iterator_seek(b, NR_ITERATIONS);
	assert_int_equal(profile_iterator_ahead(b), UINT32_MAX);
	assert_int_equal(profile_iterator_next(b, &t), 0);
	profile_iterator_free(b);
	assert_int_equal(profile_iterator_next(NULL, &t), -ENOMEM);
	profile_session_close(s);
}

/* A cut at each byte, a changed byte at each place: what is given is right, and it is said. */
TEST(every_byte)
{
	char path[160];
	struct stat st;

	make_session();
	path_of("s.1.1.cpuperf", path);
	assert_int_equal(stat(path, &st), 0);
	for (off_t at = 0; at < st.st_size; at++)
		for (int cut = 0; cut < 2; cut++) {
			double place = ((double)at + 0.5) / (double)st.st_size;
			struct told told = {0};
			struct profile_session *s;

			unlink_one("s.1.1.cpuperf"); /* the writer spares what is no trace */
			write_trace("s.1.1.cpuperf", &(struct make){1, 1, 1, 2});
			edit("s.1.1.cpuperf", cut ? place : 1, cut ? -1 : place);
			s = open_session(&scenes[0], &told);
			read_traces(&scenes[0], s);
			profile_session_close(s);
			if (!told.nr_losses)
				fail_msg("%s at %ld: not noticed", cut ? "cut" : "changed",
					 (long)at);
		}
}

TEST(many_gaps_are_few_lines)
{
	struct scene c = {.name = "gaps", .num_iterations = 200, .num_traces = 2};
	struct told told = {0};
	struct profile_session *s;
	char name[64];

	make_session();
	for (uint32_t i = 4; i < 200; i += 2) {
		snprintf(name, sizeof(name), "s.%u.0.cpuperf", i);
		write_trace(name, &(struct make){1, i, 0, 2});
	}
	s = open_session(&c, &told);
	assert_in_range(told.nr_losses, 2, 20);
	assert_non_null(strstr(told.text, "traces are missing from 82 more iterations"));
	assert_non_null(strstr(told.text, "no traces of iteration 3, 5, 7, "));
	profile_session_close(s);
}

TEST(no_session)
{
	static const struct {
		const char *prefix;
		const char *said;
	} rows[] = {{"", "saved no traces"},
		    {"/tmp/nothing", "no trace such as nothing.0.0.cpuperf"}};
	struct profile_manifest m = {manifest_path, NULL, 1, 1};
	struct profile_session *s = NULL;
	struct told told = {0};
	struct err e = {0};

	make_session();
	for (size_t i = 0; i < 2; i++) {
		err_clear(&e);
		m.output_path_prefix = rows[i].prefix;
		assert_int_equal(profile_session_open(&m, take, &told, &s, &e), -ENOENT);
		assert_non_null(strstr(e.msg, rows[i].said));
	}
	m.path = "/nonexistent/s.cpsession";
	assert_int_equal(profile_session_open(&m, take, &told, &s, NULL), -ENOENT);
	assert_null(s);
}

/* Another session has used the prefix since: its numbers are not shown. */
TEST(all_replaced)
{
	const struct profile_manifest m = {manifest_path, "/tmp/s", NR_ITERATIONS, NR_TRACES, ID_7};
	struct profile_session *s = NULL;
	struct told told = {0};
	struct err e = {0};

	make_session();
	assert_int_equal(profile_session_open(&m, take, &told, &s, &e), -ENOENT);
	assert_null(s);
	assert_non_null(strstr(e.msg, "those of s belong to another session"));
	assert_non_null(strstr(e.hint,
			       "a later session with the same prefix replaced them, or this one "
			       "ended before it wrote any"));
	assert_int_equal(told.nr_losses + told.nr_notes, 0);
}

/* Only files with a broken header: all are named, none is given. */
TEST(nothing_readable)
{
	struct profile_session *s;
	struct told told = {0};
	struct profile_iterator *it;
	struct profile_trace t;
	char name[64];

	make_session();
	for (int i = 0; i < NR_ITERATIONS; i++)
		for (int k = 0; k < NR_TRACES; k++) {
			snprintf(name, sizeof(name), "s.%d.%d.cpuperf", i, k);
			edit(name, 0.05, -1);
		}
	s = open_session(&scenes[0], &told);
	it = profile_iterator_new(s);
	assert_int_equal(profile_iterator_next(it, &t), 0);
	profile_iterator_free(it);
	assert_int_equal(told.nr_losses, NR_ITERATIONS * NR_TRACES);
	assert_null(profile_session_facts(s)->info);
	profile_session_close(s);
}

static size_t countdown; /* calls that still succeed */

static void *failing_alloc(size_t size)
{
	return countdown && countdown-- ? malloc(size) : NULL;
}

static void *failing_resize(void *p, size_t size)
{
	return countdown && countdown-- ? realloc(p, size) : NULL;
}

static int failing_openat(int dirfd, const char *path, int flags, mode_t mode)
{
	return countdown && countdown-- ? sys_kernel_ops.openat(dirfd, path, flags, mode) : -EIO;
}

static ssize_t failing_pread(int fd, void *buf, size_t len, off_t at)
{
	return countdown && countdown-- ? sys_kernel_ops.pread(fd, buf, len, at) : -EIO;
}

/* Open and read all; what is read is right. 0 or the error that stopped it. */
static int try_all(const struct scene *c, struct told *told, size_t *nr)
{
	const struct profile_manifest m = {manifest_path, "s", c->num_iterations, c->num_traces};
	struct profile_session *s = NULL;
	struct profile_iterator *it = NULL;
	struct profile_trace t;
	int rc = profile_session_open(&m, take, told, &s, NULL);

	if (rc == 0)
		it = profile_iterator_new(s);
	for (*nr = 0; rc == 0 && (rc = profile_iterator_next(it, &t)) == 1; (*nr)++)
		rc = t.pairs[0].end.raw == 30 + t.head.trace ? 0 : -EBADMSG;
	profile_iterator_free(it);
	profile_session_close(s);
	return rc;
}

TEST(every_allocation)
{
	static const struct mem_ops ops = {failing_alloc, failing_resize, free};
	struct told told = {0};
	size_t nr = 0, n = 0;

	make_session();
	for (int rc = -ENOMEM; rc; n++) {
		countdown = n;
		mem_set_ops(&ops);
		rc = try_all(&scenes[0], &told, &nr);
		mem_set_ops(NULL);
		if (rc && rc != -ENOMEM)
			fail_msg("allocation %zu: %d", n, rc);
	}
	assert_int_equal(nr, NR_ITERATIONS * NR_TRACES);
	assert_in_range(n, 20, 10000);
}

/* The lowest free one: another one if any was left open. */
static int next_descriptor(void)
{
	int fd = dup(STDERR_FILENO);

	close(fd);
	return fd;
}

/* A file that cannot be read is named, and costs nothing but itself. */
TEST(every_system_call)
{
	struct sys_ops ops = sys_kernel_ops;
	size_t nr = 0, n = 0;
	int before = next_descriptor();
	bool failed = true;

	ops.openat = failing_openat;
	ops.pread = failing_pread;
	make_session();
	for (; failed; n++) {
		struct told told = {0};
		int rc;

		countdown = n;
		sys_set_ops(&ops);
		rc = try_all(&scenes[0], &told, &nr);
		sys_set_ops(NULL);
		failed = rc || told.nr_losses;
		if (!failed && nr != NR_ITERATIONS * NR_TRACES)
			fail_msg("call %zu: lost without a word", n);
		assert_int_equal(next_descriptor(), before);
	}
	assert_in_range(n, 10, 10000);
}
