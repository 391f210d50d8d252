/*
 * The flat report: self and total, sorts, order; and against sums made one by one.
 */
#include "kit.h"
#include "test_report.h"

#include "base/array.h"
#include "report/flat.h"
#include "report/states.h"

enum { NR_COLLIDING = 400000, NR_ENTRIES = 3000, NR_LETTERS = 26 };

static struct report_flat *flat_of(struct report_functions *f, unsigned columns)
{
	struct report_flat *flat = report_flat_new(f, columns, true);

	assert_non_null(flat);
	return flat;
}

static void give(struct report_flat *flat, struct report_functions *f, struct report_key key,
		 const char *letters, uint64_t samples)
{
	assert_int_equal(test_give(report_flat_sink(flat), f, &key, letters, samples), 0);
}

/* Rows as "a 10/30 " … */
static void assert_rows(struct report_flat *flat, struct report_functions *f, const char *want)
{
	char got[1024] = "";
	size_t nr;
	const struct report_flat_row *rows = report_flat_rows(flat, &nr);

	assert_non_null(rows);
	for (size_t i = 0; i < nr; i++) {
		size_t len = strlen(got);

		snprintf(got + len, sizeof(got) - len, "%s%s %d/%d", i ? ", " : "",
			 report_functions_at(f, rows[i].column[REPORT_FUNCTION])->name,
			 (int)rows[i].self.samples, (int)rows[i].total.samples);
		assert_int_equal(rows[i].self.weight, 10 * rows[i].self.samples);
		assert_int_equal(rows[i].total.weight, 10 * rows[i].total.samples);
		assert_true(rows[i].total.squares == 100.0 * (double)rows[i].total.samples);
	}
	assert_string_equal(got, want);
}

TEST(self_and_total)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_flat *flat = flat_of(f, 1 << REPORT_FUNCTION);

	assert_int_equal(report_flat_sink(flat)->parts, REPORT_BY_STACK);
	assert_rows(flat, f, "");
	give(flat, f, (struct report_key){0}, "cba", 1);
	give(flat, f, (struct report_key){0}, "ba", 2);
	give(flat, f, (struct report_key){0}, "aaa", 4); /* once, however deep */
	give(flat, f, (struct report_key){0}, "bab", 8);
	assert_rows(flat, f, "b 10/11, a 4/15, c 1/1");
	give(flat, f, (struct report_key){0}, "c", 16); /* more after a look */
	assert_rows(flat, f, "c 17/17, b 10/11, a 4/15");
	report_flat_free(flat);
	report_flat_free(NULL);
	report_functions_free(f);
}

TEST(order)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_flat *flat = flat_of(f, 1 << REPORT_FUNCTION);

	/* by event, self, total, name: not as they came */
	give(flat, f, (struct report_key){.event = 1}, "a", 9);
	give(flat, f, (struct report_key){0}, "zy", 1);
	give(flat, f, (struct report_key){0}, "wx", 1);
	give(flat, f, (struct report_key){0}, "cx", 1);
	give(flat, f, (struct report_key){0}, "v", 2);
	assert_rows(flat, f, "v 2/2, c 1/1, w 1/1, z 1/1, x 0/2, y 0/1, a 9/9");
	report_flat_free(flat);
	report_functions_free(f);
}

/* Functions of one name are told apart, and ordered, by their objects. */
TEST(objects)
{
	static const char *const names[] = {"z", "b", "a", "c"};

	for (int by_object = 0; by_object < 2; by_object++) {
		struct report_functions *f = report_functions_new(&test_no_rules);
		struct report_flat *flat =
		    flat_of(f, 1 << (by_object ? REPORT_OBJECT : REPORT_FUNCTION));
		const struct report_sink *sink = report_flat_sink(flat);
		const struct report_flat_row *rows;
		size_t nr;

		for (size_t i = 0; i < NR(names); i++) {
			const struct report_frame frames[] = {
			    {test_function_of(f, "f", names[i]), NULL, 0},
			    {test_function_of(f, "g", names[i]), NULL, 0}};
			const struct report_entry e = {
			    .weight = {1, 10, 100}, .frames = frames, .nr_frames = 2};

			assert_int_equal(sink->entry(sink->arg, &e), 0);
		}
		rows = report_flat_rows(flat, &nr);
		assert_int_equal(nr, by_object ? 4 : 8);
		for (size_t i = 0; i < 4; i++) {
			const char *object =
			    by_object
				? report_functions_text(f, rows[i].column[REPORT_OBJECT])
				: report_functions_at(f, rows[i].column[REPORT_FUNCTION])->object;
			static const char *const want[] = {"a", "b", "c", "z"};

			assert_string_equal(object, want[i]);
			assert_int_equal(rows[i].self.samples, 1);
			assert_int_equal(rows[i].total.samples, 1); /* in it twice, once counted */
		}
		report_flat_free(flat);
		report_functions_free(f);
	}
}

/* A wait stands at the program's own function; one on a CPU where it was. */
TEST(waits_in_program)
{
	static const struct {
		enum report_state state;
		const char *objects[4], *want; /* innermost first */
	} cases[] = {
	    {REPORT_ON_CPU, {"libc.so.6", "prog", "libc.so.6"}, "f0"},
	    {REPORT_BLOCKED, {"libc.so.6", "prog", "libc.so.6"}, "f1"},
	    {REPORT_IN_QUEUE, {"[kernel]", "[vdso]", "libthing.so.1", "prog"}, "f2"},
	    {REPORT_BLOCKED, {"[kernel]", "libpthread-2.31.so", "libc-2.31.so"}, "f1"},
	    {REPORT_BLOCKED, {"[kernel]", "[unknown]"}, "f0"},
	};

	for (size_t i = 0; i < ARRAY_NR(cases); i++) {
		struct report_functions *f = report_functions_new(&test_no_rules);
		struct report_flat *flat = flat_of(f, 1 << REPORT_FUNCTION);
		struct report_frame frames[4];
		struct report_entry e = {
		    .key = {.state = cases[i].state}, .weight = {1, 10, 100}, .frames = frames};
		const struct report_flat_row *rows;
		size_t nr;

		report_flat_put_in_program(flat, true);
		for (; e.nr_frames < 4 && cases[i].objects[e.nr_frames]; e.nr_frames++) {
			char name[] = {'f', (char)('0' + e.nr_frames), '\0'};

			frames[e.nr_frames] = (struct report_frame){
			    test_function_of(f, name, cases[i].objects[e.nr_frames]), NULL, 0};
		}
		assert_int_equal(report_flat_sink(flat)->entry(report_flat_sink(flat)->arg, &e), 0);
		rows = report_flat_rows(flat, &nr);
		assert_string_equal(report_functions_at(f, rows[0].column[REPORT_FUNCTION])->name,
				    cases[i].want);
		assert_int_equal(rows[0].self.samples, 1);
		assert_int_equal(nr, e.nr_frames - (size_t)(cases[i].want[1] - '0'));
		report_flat_free(flat);
		report_functions_free(f);
	}
}

/* Where rows have no frames, all that waited counts. */
TEST(waits_without_frames)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_flat *flat = flat_of(f, 1 << REPORT_STATE);
	struct report_frame frames[2] = {{test_function_of(f, "f0", "libc.so.6"), NULL, 0},
					 {test_function_of(f, "f1", "prog"), NULL, 0}};
	const struct report_entry e = {.key = {.state = REPORT_BLOCKED},
				       .weight = {1, 10, 100},
				       .frames = frames,
				       .nr_frames = 2};
	const struct report_flat_row *rows;
	size_t nr;

	report_flat_put_in_program(flat, true);
	assert_int_equal(report_flat_sink(flat)->entry(report_flat_sink(flat)->arg, &e), 0);
	rows = report_flat_rows(flat, &nr);
	assert_int_equal(nr, 1);
	assert_int_equal(rows[0].self.samples, 1);
	report_flat_free(flat);
	report_functions_free(f);
}

static const struct {
	enum report_column column;
	unsigned part;
	struct report_key keys[3]; /* as they must be ordered; the middle one is given last */
} columns[] = {
    {REPORT_CPU, REPORT_BY_CPU, {{.cpu = 1}, {.cpu = 2}, {.cpu = 10}}},
    {REPORT_PID, REPORT_BY_PID, {{.pid = 1}, {.pid = 2}, {.pid = 10}}},
    {REPORT_TID, REPORT_BY_TID, {{.tid = 1}, {.tid = 2}, {.tid = 10}}},
    {REPORT_THREAD, REPORT_BY_TID, {{.thread = 1}, {.thread = 2}, {.thread = 10}}},
    {REPORT_ITERATION, REPORT_BY_ITERATION, {{.iteration = 0}, {.iteration = 2}, {.iteration = 9}}},
    {REPORT_SESSION, REPORT_BY_SESSION, {{.session = 0}, {.session = 1}, {.session = 2}}},
    {REPORT_COMM, REPORT_BY_COMM, {{.comm = 1}, {.comm = 2}, {.comm = 0}}}, /* texts: below */
    {REPORT_EVENT, 0, {{.event = 0}, {.event = 1}, {.event = 2}}},
};

static uint32_t part_of(const struct report_key *k, enum report_column c)
{
	const uint32_t of[REPORT_NR_COLUMNS] = {
	    [REPORT_CPU] = k->cpu,     [REPORT_PID] = k->pid,
	    [REPORT_TID] = k->tid,     [REPORT_THREAD] = k->thread,
	    [REPORT_COMM] = k->comm,   [REPORT_ITERATION] = k->iteration,
	    [REPORT_EVENT] = k->event, [REPORT_SESSION] = k->session};

	return of[c];
}

TEST(sorts)
{
	static const unsigned given[] = {0, 2, 1};

	for (size_t i = 0; i < NR(columns); i++)
		for (int with_function = 0; with_function < 2; with_function++) {
			enum report_column c = columns[i].column;
			struct report_functions *f = report_functions_new(&test_no_rules);
			struct report_flat *flat =
			    flat_of(f, 1u << c | (with_function ? 1u << REPORT_FUNCTION : 0));
			const struct report_flat_row *rows;
			size_t nr;

			assert_int_equal(report_functions_text_number(f, "z"), 0);
			assert_int_equal(report_functions_text_number(f, "a"), 1);
			assert_int_equal(report_functions_text_number(f, "b"), 2);
			assert_int_equal(report_flat_sink(flat)->parts,
					 columns[i].part |
					     (with_function ? (unsigned)REPORT_BY_STACK : 0));
			for (size_t k = 0; k < 3; k++)
				for (int twice = 0; twice < 2; twice++)
					give(flat, f, columns[i].keys[given[k]], "aa", 3);
			rows = report_flat_rows(flat, &nr);
			assert_int_equal(nr, 3);
			for (size_t k = 0; k < nr; k++) {
				assert_int_equal(rows[k].self.samples, 6);
				assert_int_equal(rows[k].total.samples, 6);
				assert_int_equal(rows[k].column[c],
						 part_of(&columns[i].keys[k], c));
			}
			report_flat_free(flat);
			report_functions_free(f);
		}
}

/* By line: equal lines of other files are others, in the order of the files' names; what is not
 * known is one. */
TEST(lines)
{
	static const char *const files[] = {"z.c", "b.c", "a.c", "c.c", NULL};

	for (int with_function = 0; with_function < 2; with_function++) {
		struct report_functions *f = report_functions_new(&test_no_rules);
		struct report_flat *flat =
		    flat_of(f, 1 << REPORT_LINE | (with_function ? 1 << REPORT_FUNCTION : 0));
		const struct report_sink *sink = report_flat_sink(flat);
		const struct report_flat_row *rows;
		char got[256] = "";
		size_t nr;

		assert_int_equal(sink->parts, REPORT_BY_LINE | REPORT_BY_STACK);
		for (size_t i = 0; i < 10; i++) {
			const struct report_frame frames[] = {
			    {test_letter(f, 'a'), files[i % 5], files[i % 5] ? 70000 : 0},
			    {test_letter(f, 'a'), files[i % 5], files[i % 5] ? 4464 : 0}};
			const struct report_entry e = {
			    .weight = {1, 10, 100}, .frames = frames, .nr_frames = 2};

			assert_int_equal(sink->entry(sink->arg, &e), 0);
		}
		rows = report_flat_rows(flat, &nr);
		for (size_t i = 0; i < nr; i++) {
			size_t len = strlen(got);

			assert_int_equal(rows[i].self.samples, i < 5 ? 2 : 0);
			assert_int_equal(rows[i].total.samples, 2);
			snprintf(got + len, sizeof(got) - len, "%s:%u ",
				 rows[i].file == UINT32_MAX
				     ? "-"
				     : report_functions_text(f, rows[i].file),
				 rows[i].column[REPORT_LINE]);
		}
		assert_string_equal(got, "-:0 a.c:70000 b.c:70000 c.c:70000 z.c:70000 "
					 "a.c:4464 b.c:4464 c.c:4464 z.c:4464 ");
		report_flat_free(flat);
		report_functions_free(f);
	}
}

TEST(without_callers)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	struct report_flat *flat = report_flat_new(f, 1 << REPORT_FUNCTION, false);

	assert_int_equal(report_flat_sink(flat)->parts, 0);
	give(flat, f, (struct report_key){0}, "a", 2);
	assert_rows(flat, f, "a 2/2");
	report_flat_free(flat);
	/* who ran has no callers */
	flat = flat_of(f, 1 << REPORT_PID | 1 << REPORT_COMM);
	assert_int_equal(report_flat_sink(flat)->parts, REPORT_BY_PID | REPORT_BY_COMM);
	report_flat_free(flat);
	report_functions_free(f);
}

/* Against sums made one by one. */
struct sums {
	struct report_weight self[2][3][NR_LETTERS], total[2][3][NR_LETTERS];
	uint64_t of_event[2];
};

static void add_sums(struct sums *s, const struct report_key *k, const char *letters, uint64_t n)
{
	const struct report_weight w = {n, 10 * n, n, 100.0 * (double)n};
	bool seen[NR_LETTERS] = {false};

	report_weight_add(&s->self[k->event][k->cpu][letters[0] - 'a'], &w);
	s->of_event[k->event] += 10 * n;
	for (size_t i = 0; letters[i]; i++) {
		if (!seen[letters[i] - 'a'])
			report_weight_add(&s->total[k->event][k->cpu][letters[i] - 'a'], &w);
		seen[letters[i] - 'a'] = true;
	}
}

TEST(as_one_by_one)
{
	for (uint64_t seed = 1; seed <= 5; seed++) {
		static struct sums s;
		struct report_functions *f = report_functions_new(&test_no_rules);
		struct report_flat *flat = flat_of(f, 1 << REPORT_FUNCTION | 1 << REPORT_CPU);
		uint64_t random = seed, sum[2] = {0};
		const struct report_flat_row *rows;
		size_t nr;

		s = (struct sums){0};
		for (int i = 0; i < NR_ENTRIES; i++) {
			const struct report_key k = {.event = test_random(&random, 2),
						     .cpu = test_random(&random, 3)};
			char letters[TEST_MAX_FRAMES];
			uint64_t n = test_random(&random, 5);

			test_random_stack(&random, letters);
			give(flat, f, k, letters, n);
			add_sums(&s, &k, letters, n);
		}
		rows = report_flat_rows(flat, &nr);
		for (size_t i = 0; i < nr; i++) {
			const struct report_flat_row *r = &rows[i];
			uint32_t event = r->column[REPORT_EVENT], cpu = r->column[REPORT_CPU];
			int letter =
			    report_functions_at(f, r->column[REPORT_FUNCTION])->name[0] - 'a';

			assert_memory_equal(&r->self, &s.self[event][cpu][letter], sizeof(r->self));
			assert_memory_equal(&r->total, &s.total[event][cpu][letter],
					    sizeof(r->total));
			sum[event] += r->self.weight;
			if (i && event == rows[i - 1].column[REPORT_EVENT])
				assert_true(r->self.weight <= rows[i - 1].self.weight);
		}
		assert_memory_equal(sum, s.of_event, sizeof(sum));
		report_flat_free(flat);
		report_functions_free(f);
	}
}

/* So many rows that some have the same hash; of lines, by their file alone. */
TEST(same_hashes)
{
	for (int by_file = 0; by_file < 2; by_file++) {
		struct report_functions *f = report_functions_new(&test_no_rules);
		struct report_flat *flat = flat_of(f, 1 << (by_file ? REPORT_LINE : REPORT_TID));
		const struct report_sink *sink = report_flat_sink(flat);
		static char file[NR_COLLIDING][8];
		size_t nr;

		for (uint32_t i = 0; i < NR_COLLIDING; i++) {
			const struct report_frame frame = {test_letter(f, 'a'), file[i], 1};
			const struct report_entry e = {
			    .key.tid = i, .weight = {1, 1, 1}, .frames = &frame, .nr_frames = 1};

			snprintf(file[i], sizeof(file[i]), "%x", i);
			assert_int_equal(sink->entry(sink->arg, &e), 0);
		}
		assert_non_null(report_flat_rows(flat, &nr));
		assert_int_equal(nr, NR_COLLIDING);
		report_flat_free(flat);
		report_functions_free(f);
	}
}

static int make(void *arg)
{
	struct report_functions *f = arg;
	struct report_flat *flat =
	    report_flat_new(f, 1 << REPORT_FUNCTION | 1 << REPORT_LINE | 1 << REPORT_TID, true);
	int rc = flat ? 0 : -ENOMEM;
	size_t nr;

	for (uint32_t i = 0; i < 200 && rc == 0; i++) {
		char file[32];
		const struct report_frame frames[] = {{report_functions_at(f, 0), file, i}};
		const struct report_entry e = {
		    .key.tid = i, .weight = {1, 1, 1}, .frames = frames, .nr_frames = 1};

		snprintf(file, sizeof(file), "%d.%p", inject.nr_live ? (int)i : -1, arg);
		rc = report_flat_sink(flat)->entry(report_flat_sink(flat)->arg, &e);
	}
	if (rc == 0 && !report_flat_rows(flat, &nr))
		rc = -ENOMEM;
	if (rc == 0)
		assert_int_equal(nr, 200);
	report_flat_free(flat);
	return rc;
}

TEST(no_memory)
{
	struct report_functions *f = report_functions_new(&test_no_rules);
	unsigned n = 0;

	assert_non_null(test_letter(f, 'a'));
	do {
		inject_mem(++n);
		assert_true(make(f) == (inject.fired ? -ENOMEM : 0));
		inject_stop();
	} while (inject.fired);
	assert_true(n > 5);
	report_functions_free(f);
}
