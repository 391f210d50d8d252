/*
 * The screen of live functions: what keys do to it, and what it looks like, against screens kept in
 * tests/data/dashboard. CPUPERF_RENEW=1 writes them anew: read the difference before it is kept.
 */
#include "golden.h"
#include "kit.h"

#include "base/buf.h"
#include "dashboard/paint_top.h"

enum { OUT_BYTES = 4 << 20, NR_ROWS = 40 };

struct screen {
	struct top *t;
	struct top_row rows[NR_ROWS];
	char names[NR_ROWS][64];
};

static struct top_share share(double part)
{
	return (struct top_share){.is_known = true, .part = part, .half = part / 20};
}

/* Shares that fall with the number; in the last seconds, the second is the first. */
static void fill(struct screen *s)
{
	static const char *const names[] = {
	    "main", "std::vector<std::pair<int, char>, std::allocator<void>>::emplace_back(int&&)",
	    "bad\x1b[31mname\n\xff", "größe", "do_syscall_64"};

	for (uint32_t i = 0; i < NR_ROWS; i++) {
		const double part = 0.3 / (1 + i);
		struct top_row *r = &s->rows[i];

		snprintf(s->names[i], sizeof(s->names[i]), "function_%u", i);
		*r = (struct top_row){.name = i < 5 ? names[i] : s->names[i],
				      .object = i % 3 ? "prog" : "[kernel]",
				      .number = i,
				      .kind = TOP_SUBJECT,
				      .self = {share(i == 1 ? 0.4 : part), share(part)},
				      .total = {share(part), share(i == 2 ? 0.9 : part)},
				      .samples = {100, 1000}};
	}
	s->rows[NR_ROWS - 1].self[TOP_RECENT] = (struct top_share){.is_known = false};
}

static void show(struct screen *s)
{
	assert_int_equal(dashboard_top_show(s->t, s->rows, NR_ROWS), 0);
}

static void open_screen(struct screen *s)
{
	s->t = dashboard_top_new();
	s->t->status = (struct top_status){.name = "live",
					   .host = "build7",
					   .event = "cpu_clock",
					   .rate = "997 Hz",
					   .nr_events = 2,
					   .samples_per_s = 63808,
					   .nr_samples = 2679936,
					   .recent_s = 5,
					   .all_s = 42,
					   .own_share = 0.021,
					   .budget = 0.05};
	fill(s);
	show(s);
}

static enum model_action press(struct screen *s, int code)
{
	const struct key key = {.code = code};

	return dashboard_top_key(s->t, &key);
}

static void type(struct screen *s, const char *text)
{
	for (; *text; text++)
		press(s, *text);
}

static const char *selected(const struct screen *s)
{
	const struct top_row *r = dashboard_top_selected(s->t);

	return r ? r->name : "";
}

TEST(lines)
{
	struct screen s;

	open_screen(&s);
	assert_string_equal(selected(&s), s.rows[1].name); /* the most of the last seconds */
	press(&s, 't');
	show(&s);
	assert_string_equal(selected(&s), "main"); /* nobody has chosen a row: the first */
	press(&s, KEY_CODE_DOWN);
	assert_string_equal(selected(&s), s.rows[1].name);
	press(&s, 't');
	show(&s);
	assert_string_equal(selected(&s), s.rows[1].name); /* it is followed */
	assert_int_equal(s.t->selected, 0);
	press(&s, KEY_CODE_END);
	assert_int_equal(s.t->selected, NR_ROWS - 1);
	assert_string_equal(selected(&s), "function_39"); /* no share: the last */
	press(&s, KEY_CODE_DOWN);
	assert_int_equal(s.t->selected, NR_ROWS - 1);
	press(&s, KEY_CODE_HOME);
	press(&s, 'k');
	assert_int_equal(s.t->selected, 0);
	press(&s, 's');
	press(&s, 't');
	assert_string_equal(selected(&s), s.rows[2].name); /* total, of all */
	dashboard_top_free(s.t);
}

/* On a screen that another one has opened Escape closes what was opened last, then the screen. */
TEST(leads_back)
{
	struct screen s;

	open_screen(&s);
	assert_int_equal(press(&s, KEY_CODE_ESCAPE), MODEL_NOTHING);
	s.t->is_inner = true;
	press(&s, '\r');
	assert_int_equal(press(&s, KEY_CODE_ESCAPE), MODEL_NOTHING);
	assert_int_equal(press(&s, KEY_CODE_ESCAPE), MODEL_QUIT);
	dashboard_top_free(s.t);
}

TEST(questions)
{
	struct screen s;
	uint64_t nr;

	open_screen(&s);
	nr = s.t->question.nr;
	press(&s, '\r');
	assert_int_equal(s.t->question.focus, 1);
	assert_int_equal(s.t->question.nr, nr + 1);
	assert_null(dashboard_top_selected(s.t)); /* rows of the question before are gone */
	press(&s, KEY_CODE_ESCAPE);
	assert_int_equal(s.t->question.focus, TOP_NO_FUNCTION);
	press(&s, 'v');
	assert_int_equal(s.t->question.view, TOP_COMMANDS);
	press(&s, 'v');
	s.rows[0].number = 77;
	press(&s, 't');
	show(&s);
	press(&s, '\n'); /* of a process: its functions */
	assert_int_equal(s.t->question.view, TOP_FUNCTIONS);
	assert_string_equal(s.t->question.filter, "pid 77");
	press(&s, KEY_CODE_BACKSPACE);
	assert_string_equal(s.t->question.filter, "");
	press(&s, 'e');
	assert_int_equal(s.t->question.event, 1);
	press(&s, 'e');
	assert_int_equal(s.t->question.event, 0);
	show(&s);
	press(&s, 'a');
	assert_true(s.t->wants_page);
	press(&s, KEY_CODE_ESCAPE);
	assert_false(s.t->wants_page);
	assert_int_equal(press(&s, 'q'), MODEL_QUIT);
	assert_int_equal(press(&s, 'S'), MODEL_SAVE);
	assert_int_equal(press(&s, 'L' - '@'), MODEL_REDRAW);
	dashboard_top_free(s.t);
}

TEST(prompts)
{
	struct screen s;

	open_screen(&s);
	press(&s, '/');
	type(&s, "TION_1q");
	assert_int_equal(s.t->nr_order, 0);
	press(&s, KEY_CODE_BACKSPACE);
	assert_int_equal(s.t->nr_order, 10); /* function_10 to function_19 */
	press(&s, '\r');
	assert_int_equal(s.t->prompt, TOP_NO_PROMPT);
	assert_string_equal(s.t->search, "TION_1");
	press(&s, '/');
	press(&s, 'x');
	press(&s, KEY_CODE_ESCAPE);
	assert_string_equal(s.t->search, "TION_1");
	press(&s, KEY_CODE_ESCAPE);
	assert_int_equal(s.t->nr_order, NR_ROWS);
	press(&s, 'f');
	for (int i = 0; i < 2 * TOP_TEXT_BYTES; i++)
		press(&s, 'x');
	assert_int_equal(strlen(s.t->typed), TOP_TEXT_BYTES - 1);
	press(&s, 'U' - '@');
	type(&s, "cpu 3");
	press(&s, '\r');
	assert_string_equal(s.t->question.filter, "cpu 3");
	assert_int_equal(s.t->question.nr_filters, 2);
	press(&s, 'f');
	press(&s, '\r'); /* as it was: nothing is asked */
	assert_int_equal(s.t->question.nr_filters, 2);
	dashboard_top_free(s.t);
}

static void paint_on(struct screen *s, unsigned width, unsigned height, bool is_utf8,
		     struct buf *out)
{
	const struct paint_state state = {.now_ns = 1};
	struct canvas c;

	assert_int_equal(canvas_init(&c, width, height, is_utf8), 0);
	paint_top(s->t, &state, &c);
	canvas_text(&c, out);
	canvas_fini(&c);
}

static void compare(struct screen *s, unsigned width, unsigned height, const char *name)
{
	BUF_AUTO(out, OUT_BYTES);

	paint_on(s, width, height, true, &out);
	golden_compare(name, &out);
}

TEST(sizes)
{
	struct screen s;

	open_screen(&s);
	compare(&s, 60, 15, "dashboard/top-60x15.txt");
	compare(&s, 80, 24, "dashboard/top-80x24.txt");
	compare(&s, 120, 20, "dashboard/top-120x20.txt");
	compare(&s, 300, 100, "dashboard/top-300x100.txt");
	for (unsigned width = 1; width < 130; width += 3)
		for (unsigned height = 1; height < 20; height += 2) {
			BUF_AUTO(out, OUT_BYTES);

			paint_on(&s, width, height, width % 2, &out);
			assert_null(memchr(out.data, '\x1b', out.len));
		}
	dashboard_top_free(s.t);
}

/* All keys are reached on a screen that is shorter than the help. */
TEST(help_scrolls)
{
	struct screen s;

	open_screen(&s);
	press(&s, '?');
	for (int i = 0; i < 2; i++) {
		BUF_AUTO(out, OUT_BYTES);

		paint_on(&s, 60, 15, true, &out);
		assert_int_equal(strstr(buf_str(&out), "end the session and quit") != NULL, i);
		assert_int_equal(strstr(buf_str(&out), "arrows jk   select") == NULL, i);
		assert_non_null(strstr(buf_str(&out), "arrows scroll"));
		for (int k = 0; k < 20; k++)
			press(&s, KEY_CODE_DOWN);
	}
	assert_true(s.t->has_help);
	press(&s, 'x');
	assert_false(s.t->has_help);
	dashboard_top_free(s.t);
}

TEST(states)
{
	static const char page[] =
	    "heading\n\nline 1\n\tline 2\n\x1b[2Jline 3\nline 4\nline 5\nline 6\n"
	    "line 7\nline 8\nline 9";
	struct screen s;

	open_screen(&s);
	press(&s, '?');
	compare(&s, 80, 24, "dashboard/top-help.txt");
	press(&s, 'x');
	press(&s, '/');
	type(&s, "fun");
	compare(&s, 80, 10, "dashboard/top-search.txt");
	press(&s, '\r');
	press(&s, 'f');
	type(&s, "pid 12");
	compare(&s, 80, 10, "dashboard/top-filter.txt");
	press(&s, '\r');
	compare(&s, 80, 10, "dashboard/top-asked.txt");
	press(&s, KEY_CODE_ESCAPE);
	press(&s, KEY_CODE_ESCAPE);
	show(&s);
	press(&s, '\r');
	s.rows[0].kind = TOP_CALLER;
	s.rows[2].kind = TOP_CALLEE;
	s.rows[0].self[TOP_ALL].is_known = s.rows[0].self[TOP_RECENT].is_known = false;
	s.t->status.behind_s = 12;
	s.t->status.nr_lost = 17;
	s.t->status.nr_dropped = 1234;
	press(&s, 'p');
	assert_int_equal(dashboard_top_show(s.t, s.rows, 3), 0);
	compare(&s, 100, 10, "dashboard/top-calls.txt");
	s.t->status.ended[TOP_RECENT] = 12;
	s.t->status.read[TOP_RECENT] = 1;
	s.t->status.ended[TOP_ALL] = 3600;
	s.t->status.read[TOP_ALL] = 712;
	compare(&s, 120, 10, "dashboard/top-short-120.txt");
	compare(&s, 60, 10, "dashboard/top-short-60.txt");
	s.t->status.every = 12;
	s.t->status.behind_s = 0;
	s.t->status.ended[TOP_ALL] = 0;
	compare(&s, 100, 10, "dashboard/top-thinned-100.txt");
	dashboard_top_show_page(s.t, "main, prog", page, strlen(page));
	assert_int_equal(s.t->nr_text_lines, 11);
	press(&s, KEY_CODE_DOWN);
	compare(&s, 60, 8, "dashboard/top-page.txt");
	press(&s, KEY_CODE_END);
	compare(&s, 60, 8, "dashboard/top-page-end.txt");
	press(&s, KEY_CODE_ESCAPE);
	assert_false(s.t->has_page);
	assert_int_equal(s.t->question.focus, 1);
	dashboard_top_free(s.t);
}

TEST(paints_an_idle_machine)
{
	struct screen s;

	open_screen(&s);
	assert_int_equal(dashboard_top_show(s.t, s.rows, 0), 0);
	compare(&s, 80, 5, "dashboard/top-idle.txt");
	s.t->status.nr_events = 1;
	compare(&s, 80, 5, "dashboard/top-idle-clock.txt");
	s.t->status.event = "page_faults";
	compare(&s, 80, 5, "dashboard/top-idle-faults.txt");
	dashboard_top_free(s.t);
}
