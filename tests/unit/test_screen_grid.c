/*
 * Tables of reports: the same calls as text, CSV and JSON lines; widths, cuts, colour; what comes
 * from outside; every allocation failing.
 */
#include "kit.h"

#include "base/buf.h"
#include "screen/grid.h"

#include <jansson.h>
#include <math.h>

static const struct grid_column columns[] = {
    {"self", .header = "self", .kind = GRID_SHARE},
    {"nr", .header = "samples", .kind = GRID_COUNT},
    {"time_ns", .header = "time", .unit = "ns", .kind = GRID_AMOUNT},
    {"p", .kind = GRID_REAL, .audience = GRID_ONLY_MACHINES},
    {"change", .unit = "%", .kind = GRID_CHANGE},
    {"at", .kind = GRID_ADDRESS},
    {"is_certain", .header = "sure", .kind = GRID_FLAG},
    {"name", .header = "function", .kind = GRID_TEXT},
};

static struct buf out;

static void expect(const char *text)
{
	if (strcmp(buf_str(&out), text))
		fail_msg("\n%s\nis not\n%s", buf_str(&out), text);
	buf_reset(&out);
}

static struct grid *make(const struct grid_options *o)
{
	struct grid *g = grid_new(columns, NR(columns), o);

	buf_init(&out, 1 << 20);
	assert_non_null(g);
	return g;
}

static void finish(struct grid *g)
{
	grid_free(g);
	buf_fini(&out);
}

static void fill(struct grid *g)
{
	struct interval big = {0.698, 0.689, 0.7071}, small = {0.0004, 0.0002, 0.0008},
			wide = {0.45, 0.3, 0.57};

	grid_row(g), grid_share(g, &big), grid_count(g, 9872), grid_count(g, 20500000);
	grid_real(g, 0.0123), grid_change(g, 0.101, true), grid_count(g, 0x401136);
	grid_flag(g, true), grid_text(g, "matrix_multiply");
	grid_row(g), grid_share(g, &small), grid_count(g, 7), grid_count(g, 12);
	grid_real(g, (double)NAN), grid_change(g, -0.0023, false), grid_none(g);
	grid_flag(g, false), grid_tree(g, 1, "a \"b\", c");
	grid_row(g), grid_share(g, &wide), grid_none(g), grid_na(g), grid_none(g);
	grid_change(g, -0.5, true);
}

/* A share without an interval has no ±. */
TEST(exact_shares)
{
	struct grid *g = grid_new(columns, 1, &(struct grid_options){.form = GRID_PEOPLE});

	buf_init(&out, 1 << 20);
	assert_non_null(g);
	grid_row(g), grid_share(g, &(struct interval){0.283, 0.283, 0.283});
	assert_int_equal(grid_write(g, &out), 0);
	assert_non_null(strstr(buf_str(&out), "28.30 %"));
	assert_null(strstr(buf_str(&out), "±"));
	finish(g);
}

/* Of all of a few samples, or of none, the end is said that they show; of many, how far it is. */
TEST(whole_shares)
{
	struct grid *g = grid_new(columns, 1, &(struct grid_options){.form = GRID_PEOPLE});

	buf_init(&out, 1 << 20);
	assert_non_null(g);
	grid_row(g), grid_share(g, &(struct interval){1, 0.722, 1});
	grid_row(g), grid_share(g, &(struct interval){1, 0.9985, 1});
	assert_int_equal(grid_write(g, &out), 0);
	assert_non_null(strstr(buf_str(&out), "≥ 72.2 %\n"));
	assert_non_null(strstr(buf_str(&out), "100.00 % ± 0.15\n"));
	grid_row(g), grid_share(g, &(struct interval){0, 0, 0.121});
	grid_row(g), grid_share(g, &(struct interval){0, 0, 0.0015});
	assert_int_equal(grid_write(g, &out), 0);
	assert_non_null(strstr(buf_str(&out), "≤ 12.1 %\n"));
	assert_non_null(strstr(buf_str(&out), "0.00 % ± 0.15\n"));
	finish(g);
}

/* Of an amount that is less than its error both ends are said. */
TEST(rough_amounts)
{
	static const struct grid_column amount = {"live", NULL, "B", GRID_ESTIMATE, GRID_ALL};
	struct grid *g = grid_new(&amount, 1, &(struct grid_options){.form = GRID_PEOPLE});

	buf_init(&out, 1 << 20);
	assert_non_null(g);
	grid_row(g), grid_estimate(g, 1, &(struct interval){524400, 26937, 2970000});
	grid_row(g), grid_estimate(g, 1, &(struct interval){524400, -9, 1058800});
	grid_row(g), grid_estimate(g, 1, &(struct interval){524400, 262200, 786600});
	assert_int_equal(grid_write(g, &out), 0);
	assert_non_null(strstr(buf_str(&out), "\n26,937 B to 2.970 MB\n"));
	assert_non_null(strstr(buf_str(&out), "\n     0 B to 1.059 MB\n"));
	assert_non_null(strstr(buf_str(&out), " 524.4 kB ± 50 %\n"));
	finish(g);
}

TEST(for_people)
{
	struct grid *g = make(&(struct grid_options){.form = GRID_PEOPLE});

	fill(g);
	grid_line(g, "and 3 more");
	assert_int_equal(grid_write(g, &out), 0);
	expect("          self  samples      time    change        at  sure  function\n"
	       "69.80 % ± 0.91    9,872  20.50 ms  +10.10 %  0x401136  yes   matrix_multiply\n"
	       " 0.04 % ± 0.04        7     12 ns   -0.23 %                    a \"b\", c\n"
	       " 45.0 % ± 15.0                n/a  -50.00 %\n"
	       "and 3 more\n");
	finish(g);
}

/* By size, also beside a cell without text. */
TEST(shares_in_colour)
{
	static const struct grid_column two[] = {{"self", .kind = GRID_SHARE},
						 {"sure", .kind = GRID_FLAG}};
	static const struct {
		double share;
		const char *shown;
	} rows[] = {{0.0049, "0.49 %\n"},
		    {0.005, "\033[36m0.50 %\033[0m\n"},
		    {0.02, "\033[32m2.00 %\033[0m\n"},
		    {0.05, "\033[33m5.00 %\033[0m\n"},
		    {0.2, "\033[1;33m20.00 %\033[0m\n"}};

	for (size_t i = 0; i < NR(rows); i++) {
		const double x = rows[i].share;
		struct grid *g = grid_new(
		    two, 2, &(struct grid_options){.form = GRID_PEOPLE, .has_color = true});

		buf_init(&out, 1 << 20);
		grid_row(g), grid_share(g, &(struct interval){x, x, x}), grid_flag(g, false);
		assert_int_equal(grid_write(g, &out), 0);
		assert_string_equal(strchr(buf_str(&out), '\n') + 1, rows[i].shown);
		finish(g);
	}
}

TEST(in_colour)
{
	struct grid *g = make(&(struct grid_options){.form = GRID_PEOPLE, .has_color = true});

	fill(g);
	assert_int_equal(grid_write(g, &out), 0);
	assert_memory_equal(out.data, "\033[1m ", 5);
	assert_non_null(strstr(out.data, "function\033[0m\n"));
	assert_non_null(strstr(out.data, "\033[31m  +10.10 %\033[0m"));
	assert_non_null(strstr(out.data, " -0.23 %  ")); /* by chance: no news */
	assert_non_null(strstr(out.data, "\033[32m  -50.00 %\033[0m"));
	assert_null(strstr(out.data, "33m")); /* shares beside changes are plain */
	finish(g);
}

TEST(as_csv)
{
	struct grid *g = make(&(struct grid_options){.form = GRID_CSV, .width = 10});

	fill(g);
	grid_line(g, "and 3 more");
	assert_int_equal(grid_write(g, &out), 0);
	expect("self,self_low,self_high,nr,time_ns,p,change,at,is_certain,name\n"
	       "69.800000,68.900000,70.710000,9872,20500000,0.012300000,10.100000,0x401136,true,"
	       "matrix_multiply\n"
	       "0.040000,0.020000,0.080000,7,12,,-0.230000,,false,\"a \"\"b\"\", c\"\n"
	       "45.000000,30.000000,57.000000,,,,-50.000000,,,\n");
	finish(g);
}

TEST(as_json)
{
	struct grid *g = make(&(struct grid_options){.form = GRID_NDJSON, .report = "fl\"at"});
	const char *line;

	fill(g);
	assert_int_equal(grid_write(g, &out), 0);
	expect("{\"report\":\"fl\\\"at\",\"self\":69.800000,\"self_low\":68.900000,"
	       "\"self_high\":70.710000,\"nr\":9872,\"time_ns\":20500000,\"p\":0.012300000,"
	       "\"change\":10.100000,\"at\":\"0x401136\",\"is_certain\":true,"
	       "\"name\":\"matrix_multiply\"}\n"
	       "{\"report\":\"fl\\\"at\",\"self\":0.040000,\"self_low\":0.020000,"
	       "\"self_high\":0.080000,\"nr\":7,\"time_ns\":12,\"p\":null,\"change\":-0.230000,"
	       "\"at\":null,\"is_certain\":false,\"name\":\"a \\\"b\\\", c\"}\n"
	       "{\"report\":\"fl\\\"at\",\"self\":45.000000,\"self_low\":30.000000,"
	       "\"self_high\":57.000000,\"nr\":null,\"time_ns\":null,\"p\":null,"
	       "\"change\":-50.000000,\"at\":null,\"is_certain\":null,\"name\":null}\n");
	fill(g);
	assert_int_equal(grid_write(g, &out), 0);
	line = buf_str(&out);
	for (int i = 0; i < 3; i++) {
		json_t *row = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);

		assert_int_equal(json_object_size(row), 11);
		json_decref(row);
		line = strchr(line, '\n') + 1;
	}
	assert_int_equal(*line, '\0');
	finish(g);
}

static const struct grid_column texts[] = {
    {"object", .kind = GRID_TEXT},
    {"nr", .kind = GRID_COUNT},
    {"name", .kind = GRID_TEXT},
};

/* A row of texts, written for people. */
static void expect_texts(unsigned width, const char *object, const char *name, const char *text)
{
	struct grid *g = grid_new(texts, 3, &(struct grid_options){.width = width});

	buf_init(&out, 1 << 20);
	grid_row(g), grid_text(g, object), grid_count(g, 1), grid_text(g, name);
	assert_int_equal(grid_write(g, &out), 0);
	expect(text);
	finish(g);
}

TEST(cuts)
{
	expect_texts(0, "libfoo.so", "a_long_name_of_a_function_in_it",
		     "object     nr  name\nlibfoo.so   1  a_long_name_of_a_function_in_it\n");
	expect_texts(46, "libfoo.so", "a_long_name_of_a_function_in_it",
		     "object     nr  name\nlibfoo.so   1  a_long_name_of_a_function_in_it\n");
	expect_texts(45, "libfoo.so", "a_long_name_of_a_function_in_it",
		     "object     nr  name\nlibfoo.so   1  a_long_name_of_a_function_in_…\n");
	/* whole characters */
	expect_texts(40, "é", "ééééééééééééééééééééééééééééééé",
		     "object  nr  name\né        1  ééééééééééééééééééééééééééé…\n");
	/* never below 16 columns */
	expect_texts(10, "libfoo.so", "a_long_name_of_a_function_in_it",
		     "object     nr  name\nlibfoo.so   1  a_long_name_of_…\n");
	/* the widest first, wherever it stands */
	expect_texts(40, "/usr/lib/a/long/path/of/libfoo.so", "main",
		     "object                          nr  name\n"
		     "/usr/lib/a/long/path/of/libfo…   1  main\n");
	expect_texts(46, "/usr/lib/a/path/of/libfoo.so", "a_long_name_of_a_function_in_it",
		     "object                nr  name\n"
		     "/usr/lib/a/path/of/…   1  a_long_name_of_a_fu…\n");
}

/* Columns leave in their order, until the rest fits; text is cut before. */
TEST(leaves)
{
	static const struct grid_column leaving[] = {
	    {"a", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"second", NULL, NULL, GRID_COUNT, GRID_ALL, 2},
	    {"machine", NULL, NULL, GRID_COUNT, GRID_ONLY_MACHINES, 1},
	    {"first", NULL, NULL, GRID_COUNT, GRID_ALL, 1},
	    {"name", NULL, NULL, GRID_TEXT, GRID_ALL},
	};
	static const struct {
		unsigned fit;
		const char *wanted;
	} cases[] = {
	    {0, "a  second  first  name\n1       2      4  a_long_name_of_all\n"},
	    {34, "a  second  first  name\n1       2      4  a_long_name_of_…\n"},
	    {33, "a  second  name\n1       2  a_long_name_of_all\n"},
	    {27, "a  second  name\n1       2  a_long_name_of_…\n"},
	    {26, "a  name\n1  a_long_name_of_all\n"},
	    {19, "a  name\n1  a_long_name_of_…\n"},
	    {12, "a  name\n1  a_long_n…\n"},
	    {5, "a  name\n1  a_long_…\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct grid *g = grid_new(
		    leaving, 5, &(struct grid_options){.width = cases[i].fit, .fit = cases[i].fit});

		buf_init(&out, 1 << 20);
		grid_row(g), grid_count(g, 1), grid_count(g, 2), grid_count(g, 3), grid_count(g, 4);
		grid_text(g, "a_long_name_of_all");
		assert_int_equal(grid_write(g, &out), 0);
		assert_string_equal(buf_str(&out), cases[i].wanted);
		grid_free(g);
		buf_fini(&out);
	}
}

/* Without a terminal columns leave as on one, and names are whole. */
TEST(leaves_without_terminal)
{
	static const struct grid_column leaving[] = {
	    {"a", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"second", NULL, NULL, GRID_COUNT, GRID_ALL, 2},
	    {"first", NULL, NULL, GRID_COUNT, GRID_ALL, 1},
	    {"name", NULL, NULL, GRID_TEXT, GRID_ALL},
	};
	static const struct {
		unsigned fit;
		const char *wanted;
	} cases[] = {
	    {34, "a  second  first  name\n1       2      4  a_long_name_of_all\n"},
	    {33, "a  second  name\n1       2  a_long_name_of_all\n"},
	    {26, "a  name\n1  a_long_name_of_all\n"},
	    {5, "a  name\n1  a_long_name_of_all\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct grid *g = grid_new(leaving, 4, &(struct grid_options){.fit = cases[i].fit});

		buf_init(&out, 1 << 20);
		grid_row(g), grid_count(g, 1), grid_count(g, 2), grid_count(g, 4);
		grid_text(g, "a_long_name_of_all");
		assert_int_equal(grid_write(g, &out), 0);
		assert_string_equal(buf_str(&out), cases[i].wanted);
		grid_free(g);
		buf_fini(&out);
	}
}

/* A name has a quarter of a wide terminal before it is cut. */
TEST(leaves_for_a_name)
{
	static const struct grid_column leaving[] = {
	    {"second", NULL, NULL, GRID_COUNT, GRID_ALL, 2},
	    {"a_header_of_thirty_letters_____a_header_of_thirty_letters", NULL, NULL, GRID_COUNT,
	     GRID_ALL, 1},
	    {"name", NULL, NULL, GRID_TEXT, GRID_ALL},
	};
	struct grid *g = grid_new(leaving, 3, &(struct grid_options){.width = 84, .fit = 84});

	buf_init(&out, 1 << 20);
	grid_row(g), grid_count(g, 2), grid_count(g, 3);
	grid_text(g, "a_long_name_of_all_the_names_that_are");
	assert_int_equal(grid_write(g, &out), 0);
	assert_string_equal(buf_str(&out),
			    "second  name\n     2  a_long_name_of_all_the_names_that_are\n");
	grid_free(g);
	buf_fini(&out);
}

TEST(lines_wrap)
{
	struct grid *g = grid_new(texts, 3, &(struct grid_options){.width = 20});

	buf_init(&out, 1 << 20);
	grid_row(g), grid_text(g, "a"), grid_count(g, 1), grid_text(g, "y");
	grid_line(g, "a line that is wider\nthan the terminal");
	grid_line(g, "");
	assert_int_equal(grid_write(g, &out), 0);
	assert_string_equal(buf_str(&out), "object  nr  name\na        1  y\na line that is\n"
					   "  wider?than the\n  terminal\n\n");
	grid_free(g);
	buf_fini(&out);
}

TEST(hostile)
{
	char text[4000];

	expect_texts(0, "a\x1b[31mb\n\r\x7f",
		     "\xc2\x9b"
		     "1m\xff\x80z\xe2\x82\xac\xe2\x82",
		     "object      nr  name\na?[31mb???   1  ?1m??z€??\n");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	struct grid *g = grid_new(texts, 3, &(struct grid_options){.width = 0});

	/* one wide cell does not widen the others beyond the ceiling */
	buf_init(&out, 1 << 20);
	grid_row(g), grid_text(g, text), grid_count(g, 1), grid_text(g, "y");
	for (int i = 0; i < 100; i++)
		grid_row(g), grid_text(g, "a"), grid_count(g, 1), grid_text(g, "y");
	assert_int_equal(grid_write(g, &out), 0);
	assert_true(out.len < 4100 + 101 * 300);
	assert_non_null(strstr(out.data, "x 1 y\n"));
	finish(g);
}

TEST(nothing)
{
	static const char *const texts_of[] = {[GRID_PEOPLE] = "object  nr  name\n",
					       [GRID_CSV] = "object,nr,name\n",
					       [GRID_NDJSON] = ""};

	for (unsigned form = 0; form < 3; form++) {
		struct grid *g = grid_new(texts, 3, &(struct grid_options){.form = form});

		buf_init(&out, 100);
		assert_int_equal(grid_write(g, &out), 0);
		expect(texts_of[form]);
		assert_int_equal(grid_write(g, &out), 0); /* once */
		expect("");
		finish(g);
	}
}

TEST(shifts)
{
	static const struct grid_column shift[] = {{"d", .kind = GRID_SHIFT}};
	static const char *const texts_of[] = {
	    [GRID_PEOPLE] = "           d\n+1.23 ± 0.45\n      -50.00\n",
	    [GRID_CSV] = "d,d_half\n1.230000,0.450000\n-50.000000,\n",
	    [GRID_NDJSON] = ("{\"d\":1.230000,\"d_half\":0.450000}\n"
			     "{\"d\":-50.000000,\"d_half\":null}\n")};

	for (unsigned form = 0; form < 3; form++) {
		struct grid *g = grid_new(shift, 1, &(struct grid_options){.form = form});

		buf_init(&out, 1000);
		grid_row(g), grid_shift(g, 0.0123, 0.0045, true);
		grid_row(g), grid_shift(g, -0.5, 0, false);
		assert_int_equal(grid_write(g, &out), 0);
		expect(texts_of[form]);
		finish(g);
	}
}

TEST(integers)
{
	static const struct grid_column own[] = {{"n", .kind = GRID_INTEGER}};
	static const struct grid_options options[] = {{.form = GRID_PEOPLE}, {.form = GRID_CSV}};
	static const char *const wanted[] = {
	    "                         n\n-9,223,372,036,854,775,808\n                     1,234\n",
	    "n\n-9223372036854775808\n1234\n"};

	for (size_t i = 0; i < NR(options); i++) {
		struct grid *g = grid_new(own, 1, &options[i]);

		buf_init(&out, 1 << 20);
		assert_non_null(g);
		grid_row(g), grid_integer(g, INT64_MIN);
		grid_row(g), grid_integer(g, 1234);
		assert_int_equal(grid_write(g, &out), 0);
		expect(wanted[i]);
		finish(g);
	}
}

TEST(percents)
{
	static const struct grid_column two[] = {{"a", .kind = GRID_PERCENT},
						 {"b", .unit = "%", .kind = GRID_PERCENT}};
	static const char *const texts_of[] = {
	    [GRID_PEOPLE] = "    a        b\n69.80   0.00 %\n  n/a  -1.00 %\n",
	    [GRID_CSV] = "a,b\n69.800000,0.000100\n,-1.000000\n",
	    [GRID_NDJSON] = "{\"a\":69.800000,\"b\":0.000100}\n{\"a\":null,\"b\":-1.000000}\n"};

	for (unsigned form = 0; form < 3; form++) {
		struct grid *g = grid_new(two, 2, &(struct grid_options){.form = form});

		buf_init(&out, 1000);
		grid_row(g), grid_percent(g, 0.698), grid_percent(g, 1e-6);
		grid_row(g), grid_percent(g, -(double)INFINITY), grid_percent(g, -0.01);
		assert_int_equal(grid_write(g, &out), 0);
		expect(texts_of[form]);
		finish(g);
	}
}

TEST(audiences)
{
	static const struct grid_column two[] = {
	    {"a", .kind = GRID_COUNT, .audience = GRID_ONLY_PEOPLE},
	    {"b", .kind = GRID_COUNT, .audience = GRID_ONLY_MACHINES}};
	static const char *const texts_of[] = {[GRID_PEOPLE] = "a\n1\n\n",
					       [GRID_CSV] = "b\n2\n\n",
					       [GRID_NDJSON] = "{\"b\":2}\n{\"b\":null}\n"};

	for (unsigned form = 0; form < 3; form++) {
		struct grid *g = grid_new(two, 2, &(struct grid_options){.form = form});

		buf_init(&out, 1000);
		grid_row(g), grid_count(g, 1), grid_count(g, 2);
		grid_row(g);
		assert_int_equal(grid_write(g, &out), 0);
		expect(texts_of[form]);
		finish(g);
	}
}

TEST(in_pieces)
{
	struct grid *g = grid_new(texts, 3, &(struct grid_options){.form = GRID_PEOPLE});

	buf_init(&out, 1000);
	grid_row(g), grid_text(g, "long object"), grid_count(g, 1), grid_text(g, "a");
	assert_int_equal(grid_write(g, &out), 0);
	grid_row(g), grid_text(g, "b"), grid_count(g, 2), grid_text(g, "");
	grid_row(g);
	grid_line(g, "");
	assert_int_equal(grid_write(g, &out), 0);
	expect("object       nr  name\nlong object   1  a\nb             2\n\n\n");
	finish(g);
}

TEST(wrong_calls)
{
	static void (*const calls[])(struct grid *) = {grid_none, grid_na};

	for (size_t i = 0; i < NR(calls); i++) {
		struct grid *g = make(&(struct grid_options){0});

		calls[i](g); /* before a row */
		assert_int_equal(grid_error(g), -EINVAL);
		assert_int_equal(grid_write(g, &out), -EINVAL);
		finish(g);
	}
	for (unsigned form = 0; form < 3; form++) {
		struct grid *g = grid_new(texts, 3, &(struct grid_options){.form = form});

		grid_row(g), grid_count(g, 1); /* not of this kind */
		assert_int_equal(grid_error(g), -EINVAL);
		grid_free(g);
		g = grid_new(texts, 3, &(struct grid_options){.form = form});
		grid_row(g), grid_none(g), grid_none(g), grid_none(g);
		assert_int_equal(grid_error(g), 0);
		grid_none(g); /* one too many */
		assert_int_equal(grid_error(g), -EINVAL);
		grid_free(g);
	}
	assert_null(grid_new(texts, GRID_MAX_COLUMNS + 1, &(struct grid_options){0}));
}

static int whole(void *arg)
{
	struct grid *g = grid_new(columns, NR(columns), arg);
	struct buf b;
	int rc = -ENOMEM;

	if (!g)
		return rc;
	buf_init(&b, 1 << 20);
	for (int i = 0; i < 50; i++) {
		fill(g);
		grid_line(g, "x");
	}
	rc = grid_write(g, &b);
	assert_int_equal(rc, grid_error(g) ? grid_error(g) : buf_error(&b));
	grid_free(g);
	buf_fini(&b);
	return rc;
}

TEST(without_memory)
{
	for (unsigned form = 0; form < 3; form++)
		inject_every(whole, &(struct grid_options){.form = form, .width = 60}, 3, 0);
}

/* One table of several grids, each of a session. */
TEST(of_sessions)
{
	static const struct grid_column one[] = {{.name = "n", .kind = GRID_COUNT}};
	static const struct {
		struct grid_options options;
		const char *want;
	} cases[] = {
	    {{.form = GRID_CSV, .session = "a,b"}, "session,n\n\"a,b\",7\n"},
	    {{.form = GRID_CSV, .session = "c", .is_continued = true}, "c,7\n"},
	    {{.form = GRID_CSV, .is_continued = true}, "7\n"},
	    {{.form = GRID_NDJSON, .session = "a\"b"}, "{\"session\":\"a\\\"b\",\"n\":7}\n"},
	    {{.form = GRID_NDJSON, .report = "r", .session = "c", .is_continued = true},
	     "{\"report\":\"r\",\"session\":\"c\",\"n\":7}\n"},
	    {{.form = GRID_PEOPLE, .session = "c", .is_continued = true}, "n\n7\n"},
	};

	for (size_t i = 0; i < NR(cases); i++) {
		struct grid *g = grid_new(one, 1, &cases[i].options);
		struct buf b;

		assert_non_null(g);
		buf_init(&b, 1 << 20);
		grid_row(g);
		grid_count(g, 7);
		assert_int_equal(grid_write(g, &b), 0);
		assert_string_equal(buf_str(&b), cases[i].want);
		grid_free(g);
		buf_fini(&b);
	}
}

/* What each column is, for who shows what programs get. */
TEST(described)
{
	static const struct grid_column few[] = {
	    {"pid", .kind = GRID_NUMBER},
	    {"shown", .kind = GRID_TEXT, .audience = GRID_ONLY_PEOPLE},
	    {"self", .kind = GRID_SHARE},
	    {"live", .unit = "B", .kind = GRID_ESTIMATE, .audience = GRID_ONLY_MACHINES},
	};

	buf_init(&out, 1000);
	grid_describe(few, NR(few), GRID_NDJSON, &out);
	assert_string_equal(buf_str(&out), "[[\"pid\",\"number\"],[\"self\",\"share\"],"
					   "[\"live\",\"estimate\",\"B\"]]");
	buf_reset(&out);
	grid_describe(few, NR(few), GRID_PEOPLE, &out);
	assert_string_equal(buf_str(&out),
			    "[[\"pid\",\"number\"],[\"shown\",\"text\"],[\"self\",\"share\"]]");
	buf_fini(&out);
}

/* Of documents: the unit of each kind, and which fields have the interval. */
TEST(described_fields)
{
	static const struct grid_column some[] = {
	    {"pid", .kind = GRID_NUMBER},
	    {"self", .kind = GRID_SHARE},
	    {"live", .unit = "B", .kind = GRID_ESTIMATE},
	    {"shown", .kind = GRID_TEXT, .audience = GRID_ONLY_PEOPLE},
	    {"shift", .unit = "pp", .kind = GRID_SHIFT},
	};

	buf_init(&out, 1000);
	grid_describe_fields(some, NR(some), GRID_NDJSON, &out);
	assert_string_equal(
	    buf_str(&out),
	    "[{\"name\":\"pid\",\"kind\":\"number\"},"
	    "{\"name\":\"self\",\"kind\":\"share\",\"unit\":\"%\",\"low\":\"self_low\","
	    "\"high\":\"self_high\"},"
	    "{\"name\":\"live\",\"kind\":\"estimate\",\"unit\":\"B\",\"low\":\"live_low\","
	    "\"high\":\"live_high\"},"
	    "{\"name\":\"shift\",\"kind\":\"shift\",\"unit\":\"%\",\"half\":\"shift_half\"}]");
	buf_fini(&out);
}

/* A number that names something has no separators: options take it as it stands. */
TEST(numbers)
{
	static const struct grid_column two[] = {{"pid", .kind = GRID_NUMBER},
						 {"nr", .kind = GRID_COUNT}};
	static const char *const wanted[] = {[GRID_PEOPLE] = "  pid      nr\n23907  23,907\n",
					     [GRID_CSV] = "pid,nr\n23907,23907\n",
					     [GRID_NDJSON] = "{\"pid\":23907,\"nr\":23907}\n"};

	for (unsigned form = 0; form < 3; form++) {
		struct grid *g = grid_new(two, 2, &(struct grid_options){.form = form});

		buf_init(&out, 1000);
		grid_row(g), grid_count(g, 23907), grid_count(g, 23907);
		assert_int_equal(grid_write(g, &out), 0);
		assert_string_equal(buf_str(&out), wanted[form]);
		grid_free(g);
		buf_fini(&out);
	}
}
