/*
 * Replay of a tally in the dashboard, in one thread: each turn handles the terminal and reads the
 * iteration to show, or one more for the history.
 */
#include "replay.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "counts/formulas.h"
#include "counts/tally.h"
#include "dashboard/ui.h"
#include "options.h"
#include "problems.h"
#include "profile/iterator.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_BYTES = 16 << 20,
	MAX_PROBLEMS_BYTES = 64 << 10,
	CLOSE_MS = 1000,
	NS_PER_MS = 1000000,
	MIN_PLAY_MS = 50
};

struct replay {
	struct problems *problems;
	const struct input *input;
	struct profile_iterator *iterator; /* owned */
	struct arena arena;
	struct dashboard_ui *ui;
	struct table *read;  /* owned; filled from the traces */
	struct table *spare; /* owned; exchanged with the dashboard */
	uint32_t next;       /* next iteration for the history */
	uint32_t noted;      /* notes of earlier ones are shown */
	uint32_t shown;      /* UINT32_MAX: none yet */
	uint64_t shown_ns;   /* since when */
	struct buf lines;    /* problems, logged again after the dashboard closed */
};

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, 0};

int replay_check(const struct options *o, struct err *e)
{
	if (!o->live)
		return 0;
	if (o->sessions.nr != 1 || o->diff.nr)
		return err_set(e, -EINVAL, "--live replays one session");
	if (o->reports.nr || o->output_file || strcmp(o->output_format, "text") != 0)
		return err_set(e, -EINVAL,
			       "--live excludes --report, --output-format and "
			       "--output-file");
	if (o->cpus || o->iterations || o->events.nr || o->pids || o->tids || o->trees ||
	    o->comms.nr || o->cmdlines.nr || o->regions.nr || o->from || o->to)
		return err_set(
		    e, -EINVAL,
		    "--live excludes --cpu, --iteration, --event, --pid, --tid, --tree-of, "
		    "--comm, --cmdline, --region, --from and --to");
	if (!isatty(STDOUT_FILENO))
		return err_set(e, -EINVAL, "--live requires a terminal on standard output");
	return 0;
}

/* --- reading ------------------------------------------------------------------------------------
 */

static void note(struct replay *r, uint32_t iteration, const char *text)
{
	char line[MODEL_NOTE_BYTES];

	snprintf(line, sizeof(line), "iteration %u: %s", iteration, text);
	model_note(dashboard_ui_model(r->ui), line);
}

/* At most MAX_NOTES per iteration. */
static void add_notes(struct replay *r, const struct profile_trace *trace, size_t *nr)
{
	enum { MAX_NOTES = 8 };

	for (size_t i = 0; i < trace->nr_notes && *nr < MAX_NOTES; i++, ++*nr)
		note(r, trace->head.iteration, trace->notes[i]);
}

/* 1: read into r->read; 0: the iteration has no trace; -ENOMEM. */
static int read_iteration(struct replay *r, uint32_t iteration, bool with_notes)
{
	struct profile_iterator *it = r->iterator;
	struct profile_trace trace;
	size_t nr_notes = 0;
	int rc;

	r->read->nr_rows = 0;
	profile_iterator_seek(it, iteration);
	while (profile_iterator_ahead(it) == iteration) {
		rc = profile_iterator_next(it, &trace);
		if (rc < 0)
			return rc;
		/* unreadable files are skipped, perhaps the last ones */
		if (rc == 0 || trace.head.iteration != iteration)
			break;
		(void)counts_tally_add(r->read, &trace);
		if (with_notes)
			add_notes(r, &trace, &nr_notes);
	}
	return r->read->nr_rows > 0;
}

static int copy_iteration(struct replay *r)
{
	return table_copy_events(r->spare, r->read);
}

static int add_to_history(struct replay *r)
{
	bool is_new = r->next >= r->noted;
	int rc = read_iteration(r, r->next, is_new);

	if (rc == 1) {
		rc = copy_iteration(r);
		model_add(dashboard_ui_model(r->ui), &r->spare);
	} else if (rc == 0 && is_new) {
		note(r, r->next, "it has no trace");
	}
	r->next++;
	r->noted = is_new ? r->next : r->noted;
	dashboard_ui_set_read(r->ui, r->next);
	if (r->next == r->input->facts->nr_iterations || r->next <= r->shown + 1)
		dashboard_ui_redraw(r->ui);
	return rc < 0 ? rc : 0;
}

static int show_wanted(struct replay *r)
{
	struct model *m = dashboard_ui_model(r->ui);
	int rc = read_iteration(r, m->wanted, false);

	r->shown = m->wanted;
	r->shown_ns = clock_monotonic_ns();
	if (rc == 1) {
		rc = copy_iteration(r);
		model_show(m, &r->spare);
	} else if (rc == 0) {
		snprintf(m->message, sizeof(m->message), "iteration %u has no trace: showing %u",
			 m->wanted, m->shown->table->iteration);
	}
	dashboard_ui_redraw(r->ui);
	return rc < 0 ? rc : 0;
}

/* The history of a long session is a window; it should end near the iteration shown. */
static bool is_elsewhere(const struct replay *r, const struct history *h)
{
	uint32_t depth = (uint32_t)h->depth;

	if (r->shown > r->next && r->shown - r->next > depth)
		return true;
	return h->nr == depth && history_entry(h, 0)->iteration > 0 &&
	       r->shown < history_entry(h, depth / 4)->iteration;
}

static bool needs_history(struct replay *r)
{
	const struct history *h = &dashboard_ui_model(r->ui)->history;
	uint32_t depth = (uint32_t)h->depth;

	if (r->shown == UINT32_MAX)
		return false;
	if (is_elsewhere(r, h)) {
		model_forget(dashboard_ui_model(r->ui));
		r->next = r->shown > depth / 2 ? r->shown - depth / 2 : 0;
	}
	return r->next < r->input->facts->nr_iterations &&
	       (h->nr < depth || r->next <= r->shown + depth / 4);
}

/* --- the dashboard ------------------------------------------------------------------------------
 */

static uint64_t play_ms(const struct replay *r)
{
	uint64_t ms = dashboard_ui_model(r->ui)->facts.duration_ns / NS_PER_MS;

	return ms < MIN_PLAY_MS ? MIN_PLAY_MS : ms;
}

/* How long the next turn may block: 0 while there is something to read, until the next iteration
 * while playing, else forever (-1). */
static int wait_ms(struct replay *r)
{
	uint64_t since_ms = (clock_monotonic_ns() - r->shown_ns) / NS_PER_MS;

	if (needs_history(r))
		return 0;
	if (!dashboard_ui_model(r->ui)->is_playing)
		return -1;
	return since_ms < play_ms(r) ? (int)(play_ms(r) - since_ms) : 0;
}

static void play(struct replay *r)
{
	struct model *m = dashboard_ui_model(r->ui);

	if (!m->is_playing || clock_monotonic_ns() - r->shown_ns < play_ms(r) * NS_PER_MS)
		return;
	if (m->wanted + 1 < m->facts.nr_iterations)
		m->wanted++;
	else
		m->is_playing = false;
	dashboard_ui_redraw(r->ui);
}

static int run(struct replay *r)
{
	int rc = 0;

	while (rc == 0 && !dashboard_ui_is_gone(r->ui)) {
		play(r);
		if (dashboard_ui_model(r->ui)->wanted != r->shown)
			rc = show_wanted(r);
		else if (needs_history(r))
			rc = add_to_history(r);
		if (dashboard_ui_turn(r->ui, -1, wait_ms(r)))
			break;
	}
	return rc;
}

static void show_problem(void *arg, const struct err *problem)
{
	struct replay *r = arg;
	char line[sizeof(problem->source) + sizeof(problem->msg) + 2];

	snprintf(line, sizeof(line), "%s: %s", problem->source, problem->msg);
	model_note(dashboard_ui_model(r->ui), line);
	buf_adds(&r->lines, line);
	buf_addc(&r->lines, '\n');
}

static void log_lines(const struct buf *lines)
{
	const char *at = buf_str(lines), *end = at + lines->len, *line, *stop;

	while ((line = str_next_line(&at, end, &stop)))
		log_warning("%.*s", (int)(stop - line), line);
}

static int run_ui(struct replay *r, const struct model_facts *facts, struct err *e)
{
	const struct dashboard_ui_config config = {
	    .fd = STDOUT_FILENO, .facts = facts, .ends = ends};
	int rc = dashboard_ui_open(&config, &r->ui, e);

	if (rc)
		return rc;
	r->problems->report = show_problem;
	r->problems->arg = r;
	r->spare = model_new_table(dashboard_ui_model(r->ui));
	r->next = (uint32_t)r->input->facts->nr_removed; /* before it there is nothing to read */
	dashboard_ui_model(r->ui)->wanted = r->next;
	rc = r->spare ? run(r) : -ENOMEM;
	r->problems->report = NULL;
	if (dashboard_ui_close(r->ui, CLOSE_MS))
		log_lines(&r->lines);
	return rc ? err_set(e, rc, "cannot read further: %s", strerror(-rc)) : 0;
}

/* --- setup ----------------------------------------------------------------------------
 */

static int copy_cpu(struct replay *r, const struct profile_trace *trace, struct model_cpu *out)
{
	const struct trace_where *place = &trace->where;
	char *type = arena_strdup(&r->arena, place->type);

	*out = (struct model_cpu){.cpu = trace->head.cpu,
				  .package = place->package,
				  .node = place->node,
				  .type = *place->type ? type : NULL};
	return type ? 0 : -ENOMEM;
}

/* Indexed by trace. A trace missing in the first iteration is assumed to be the CPU of its number.
 */
static int make_cpus(struct replay *r, struct model_facts *f)
{
	const struct profile_facts *p = r->input->facts;
	struct profile_trace trace;
	struct model_cpu *cpus;

	f->nr_cpus = p->max_rows > p->nr_traces ? p->max_rows : p->nr_traces;
	cpus = arena_calloc(&r->arena, f->nr_cpus, sizeof(*cpus));
	if (!cpus)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->nr_cpus; i++)
		cpus[i] = (struct model_cpu){.cpu = i, .package = -1, .node = -1};
	for (size_t i = 0; i < f->nr_cpus; i++) {
		if (profile_iterator_next(r->iterator, &trace) != 1)
			break;
		if (trace.head.trace < f->nr_cpus && copy_cpu(r, &trace, &cpus[trace.head.trace]))
			return -ENOMEM;
	}
	f->cpus = cpus;
	f->has_target = f->nr_cpus && cpus[f->nr_cpus - 1].cpu == TABLE_ALL_CPUS;
	f->nr_cpus -= f->has_target;
	if (p->info && p->info->nr_cpus)
		f->nr_machine_cpus = p->info->nr_cpus;
	else if (!f->has_target && p->info && !strstr(p->info->spec_json, "\"cpus\":"))
		f->nr_machine_cpus = f->nr_cpus; /* all were measured */
	return 0;
}

static int show(struct replay *r, struct err *e)
{
	const struct profile_facts *p = r->input->facts;
	const struct metric_set none = {NULL, 0};
	struct model_facts f = {.name = input_name(r->input),
				.host = p->head.host,
				.cpu_model = p->info ? p->info->cpu_model : "",
				.nr_iterations = p->nr_iterations,
				.duration_ns = p->info ? p->info->duration_ns : 0,
				.nr_events = p->nr_events,
				.is_replay = true};
	int rc = counts_tally_new(p, &none, &r->read, e);

	if (rc)
		return rc;
	f.events = r->read->columns;
	rc = counts_formulas_join(&r->input->spec.metric_set, p->events, p->nr_events, &r->arena,
				  &f.metrics, e);
	r->iterator = profile_iterator_new(r->input->session);
	if (rc == 0 && (!r->iterator || make_cpus(r, &f)))
		rc = err_set(e, -ENOMEM, "out of memory");
	return rc ?: run_ui(r, &f, e);
}

int replay_run(struct inputs *in, struct err *e)
{
	struct replay r = {.problems = in->problems, .input = &in->item[0], .shown = UINT32_MAX};
	sigset_t old;
	int rc;

	dashboard_ui_block(ends, &old);
	arena_init(&r.arena, MAX_BYTES);
	buf_init(&r.lines, MAX_PROBLEMS_BYTES);
	rc = show(&r, e);
	buf_fini(&r.lines);
	arena_fini(&r.arena);
	profile_iterator_free(r.iterator);
	table_free(r.read);
	table_free(r.spare);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}
