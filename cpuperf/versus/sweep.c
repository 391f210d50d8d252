#include "versus/sweep.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt_std.h"
#include "options.h"
#include "program.h"
#include "target/command.h"
#include "versus/turns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXT = 16 << 20, TEXT_BYTES = 256, EXIT_OVER = 3, PREPARE = VERSUS_NR_SIDES, NR_WORDS };
#define FOLDER      "cpuperf.sweep"
#define RUNS_HEADER "round,value," VERSUS_RUN_HEADER

struct sweep {
	const struct options *o;
	struct turns turns;
	struct sweep_parameter parameter;
	char **old;                               /* words; NULL: one command, or self */
	char **words[SWEEP_MAX_VALUES][NR_WORDS]; /* of each value; owned; NULL: none */
	struct turns_arm arm[SWEEP_MAX_VALUES * VERSUS_NR_SIDES];
	char text[VERSUS_NR_SIDES][TEXT_BYTES]; /* command lines, with the parameter's name */
	struct sweep_result result;             /* without --versus */
	struct versus_verdict verdict[SWEEP_MAX_VALUES]; /* with it */
};

static bool compares_two(const struct sweep *s)
{
	return s->o->versus.old;
}

/* --- the commands */

static int fill(struct sweep *s, size_t i, int which, char *const *words, size_t *nr, struct err *e)
{
	return words ? sweep_parameter_fill(&s->parameter, i, words, &s->words[i][which], nr, e)
		     : 0;
}

static int fill_all(struct sweep *s, size_t i, size_t *nr, struct err *e)
{
	return fill(s, i, VERSUS_OLD, s->old, nr, e)
	       ?: fill(s, i, VERSUS_NEW, s->o->command_argv, nr, e)
		      ?: fill(s, i, PREPARE, s->turns.prepare, nr, e);
}

static void add_arm(struct sweep *s, size_t i, int side)
{
	struct turns_arm *arm = &s->arm[s->turns.nr_arms++];
	char **words = s->words[i][side];

	arm->argv = words ? words : s->words[i][VERSUS_NEW]; /* self */
	arm->prepare = s->words[i][PREPARE];
	snprintf(arm->name, sizeof(arm->name), "%s%s%s=%.30s",
		 compares_two(s) ? versus_side_names[side] : "", compares_two(s) ? " " : "",
		 s->parameter.name, s->parameter.value[i]);
}

static int make_arms(struct sweep *s, struct err *e)
{
	const struct sweep_parameter *p = &s->parameter;
	size_t nr = 0;
	int rc = ARRAY_RUN(i, p->nr, fill_all(s, i, &nr, e));

	if (rc)
		return rc;
	if (!nr) {
		err_set(e, -EINVAL, "--sweep=%s: {%s} is in no command", s->o->versus.sweep,
			p->name);
		err_hint(e,
			 "write {%s} where its values belong: cpuperf --sweep=%s -- COMMAND {%s}",
			 p->name, s->o->versus.sweep, p->name);
		return e->code;
	}
	for (size_t i = 0; i < p->nr; i++)
		for (int side = compares_two(s) ? VERSUS_OLD : VERSUS_NEW; side < VERSUS_NR_SIDES;
		     side++)
			add_arm(s, i, side);
	s->turns.arm = s->arm;
	return 0;
}

static void name_sides(struct sweep *s, bool is_self)
{
	char *const *argv[] = {is_self || !s->old ? s->o->command_argv : s->old,
			       s->o->command_argv};

	for (int side = 0; side < VERSUS_NR_SIDES; side++)
		target_command_quote(argv[side], s->text[side], TEXT_BYTES);
	s->result.parameter = &s->parameter;
	s->result.command = s->text[VERSUS_NEW];
	for (size_t i = 0; i < s->parameter.nr; i++)
		s->verdict[i] = (struct versus_verdict){
		    .rule = s->turns.rule,
		    .is_self = is_self,
		    .name = {s->text[VERSUS_OLD], s->text[VERSUS_NEW]},
		    .parameter = s->parameter.name,
		    .value = s->parameter.value[i],
		};
}

static int parse(struct sweep *s, struct err *e)
{
	const struct versus_options *o = &s->o->versus;
	const bool is_self = o->old && strcmp(o->old, VERSUS_SELF) == 0;

	if (turns_init(&s->turns, s->o, e) || sweep_parameter_parse(o->sweep, &s->parameter, e) ||
	    (!is_self && turns_split("versus", o->old, &s->old, e)) || make_arms(s, e))
		return e->code;
	name_sides(s, is_self);
	return 0;
}

/* --- runs */

static int look_at_values(struct turns *t, void *arg)
{
	struct sweep *s = arg;
	int rc = sweep_result_make(t, &s->result);

	t->is_known = s->result.is_known;
	return rc;
}

static int look_at_pair(const struct turns *t, size_t i, struct versus_verdict *v)
{
	const struct versus_runs runs = {t->run ? t->run + i * VERSUS_NR_SIDES : NULL, t->nr_rounds,
					 t->nr_arms};

	v->seconds = t->seconds;
	return versus_verdict_make(&runs, v);
}

static int look_at_pairs(struct turns *t, void *arg)
{
	struct sweep *s = arg;
	int rc = ARRAY_RUN(i, s->parameter.nr, look_at_pair(t, i, &s->verdict[i]));

	t->is_known = !ARRAY_ANY(v, s->verdict, s->parameter.nr, !v->is_known);
	return rc;
}

static void put_status(const struct turns *t, const void *arg, struct buf *out)
{
	const struct sweep *s = arg;

	buf_printf(out, "%zu runs of %zu commands in %.0f s", t->nr_rounds, t->nr_arms, t->seconds);
	if (!compares_two(s) && t->nr_rounds)
		sweep_result_status(&s->result, out);
}

/* --- the whole */

static void write_runs(const struct sweep *s, struct buf *out)
{
	const struct turns *t = &s->turns;
	const size_t nr_sides = compares_two(s) ? VERSUS_NR_SIDES : 1;

	buf_adds(out, RUNS_HEADER);
	for (size_t i = 0; i < t->nr_rounds * t->nr_arms; i++) {
		const size_t arm = i % t->nr_arms;

		buf_printf(out, "%zu,", i / t->nr_arms + 1);
		buf_csv_field(out, s->parameter.value[arm / nr_sides]);
		buf_addc(out, ',');
		versus_run_write(nr_sides == 1 ? VERSUS_NEW : arm % nr_sides, &t->run[i], out);
	}
}

static void save_runs(const struct sweep *s, int dir, const char *folder)
{
	BUF_AUTO(out, 256u << 20);

	write_runs(s, &out);
	turns_save_runs(dir, folder, &out);
}

/* The exit status. */
static int print_all(const struct sweep *s)
{
	const unsigned width = opt_std_terminal_width();
	BUF_AUTO(out, MAX_TEXT);
	int rc = compares_two(s) ? versus_verdicts_write(s->verdict, s->parameter.nr,
							 s->o->output_format, width, &out)
				 : sweep_result_write(&s->result, s->o->output_format, width, &out);

	if (rc) {
		log_error("the sweep cannot be printed: %s", strerror(-rc));
		return EXIT_FAILED;
	}
	rc = print_result(&out);
	return rc == EXIT_DONE && compares_two(s) &&
		       ARRAY_ANY(v, s->verdict, s->parameter.nr, versus_verdict_fails(v))
		   ? EXIT_OVER
		   : rc;
}

static int measure_and_print(struct sweep *s)
{
	const char *folder = s->o->output ? s->o->output : FOLDER;
	struct turns *t = &s->turns;
	struct err e = {0};
	IO_AUTO_FD int dir = -1;
	int status = EXIT_DONE, rc;

	if (strcmp(folder, "-") != 0) {
		dir = turns_open_folder(folder, RUNS_HEADER, &e);
		if (dir < 0)
			return fail(EXIT_NOT_MEASURED, &e);
	}
	rc = turns_run(t, &e);
	s->result.is_cut = turns_caught();
	for (size_t i = 0; i < s->parameter.nr; i++)
		s->verdict[i].is_cut = turns_caught();
	if (rc == 0 && (t->nr_rounds || !turns_caught()))
		status = print_all(s);
	if (rc == 0 && dir >= 0)
		save_runs(s, dir, folder);
	turns_clean_up(t);
	return rc ? fail(turns_status_of(&e), &e) : turns_status(status);
}

static void fini(struct sweep *s)
{
	for (size_t i = 0; i < SWEEP_MAX_VALUES; i++)
		for (int which = 0; which < NR_WORDS; which++)
			mem_free(s->words[i][which]);
	mem_free(s->old);
	sweep_parameter_fini(&s->parameter);
	turns_fini(&s->turns);
}

int sweep(struct options *o)
{
	MEM_AUTO struct sweep *s = mem_zalloc(sizeof(*s));
	struct err e = {0};
	int status;

	if (!s) {
		log_error("out of memory");
		return EXIT_NOT_MEASURED;
	}
	s->o = o;
	if (parse(s, &e)) {
		status = fail(EXIT_NOT_MEASURED, &e);
	} else {
		s->turns.look = compares_two(s) ? look_at_pairs : look_at_values;
		s->turns.put_status = put_status;
		s->turns.arg = s;
		turns_catch_signals(&s->turns);
		status = measure_and_print(s);
	}
	fini(s);
	return status;
}
