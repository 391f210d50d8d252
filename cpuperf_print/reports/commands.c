/*
 * The table of commands that an answer about many processes begins with: their samples, counted by
 * process as the functions are read.
 */
#include "commands.h"
#include "base/array.h"
#include "base/buf.h"
#include "base/dict.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "conclusion.h"
#include "numbers.h"
#include "report/functions.h"
#include "report/states.h"
#include "reports/reports.h"
#include "samples.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 10, ROWS_FITTED = 5, ROWS_TIGHT = 3 };
enum { ADDED_PARTS = REPORT_BY_PID | REPORT_BY_COMM | REPORT_BY_CMDLINE };
enum { MAX_TEXT_BYTES = 64 << 20 };
static const double most = 0.5; /* of all, that the rows shall have */
static const double few = 0.1;  /* of all, whose command lines may be unknown */

struct process {
	uint32_t session, pid, cmdline, comm;
	struct report_weight weight;
};

struct command {
	const char *label;
	struct report_weight weight;
	uint32_t nr_processes, last_session, last_pid;
};

struct reports_commands {
	struct job *j;
	uint32_t event; /* that is counted */
	const struct report_sink *to;
	struct report_sink sink;
	struct dict processes;             /* struct process */
	struct report_weight all, unknown; /* unknown: without a command line */
};

static uint32_t event_of(const struct job *j)
{
	const struct profile_facts *f = job_input(j)->facts;

	for (uint32_t i = 0; i < f->nr_events; i++)
		if (report_states_of(f, &j->selection->filter, i) == REPORT_ON_CPU)
			return i;
	return 0;
}

/* What the sink did not ask for is 0. */
static void restore_key(const struct report_sink *to, struct report_key *key)
{
	key->pid = to->parts & REPORT_BY_PID ? key->pid : 0;
	key->comm = to->parts & REPORT_BY_COMM ? key->comm : 0;
	key->cmdline = to->parts & REPORT_BY_CMDLINE ? key->cmdline : 0;
	key->session = to->parts & REPORT_BY_SESSION ? key->session : 0;
}

static int add_entry(void *arg, const struct report_entry *e)
{
	const struct process key = {.session = e->key.session,
				    .pid = e->key.pid,
				    .cmdline = e->key.cmdline,
				    .comm = e->key.comm};
	struct reports_commands *c = arg;
	struct report_entry passed = *e;

	if (e->key.event == c->event) {
		struct process *p = dict_get(&c->processes, &key);

		if (!p)
			return -ENOMEM;
		report_weight_add(&p->weight, &e->weight);
		report_weight_add(&c->all, &e->weight);
		if (!samples_cmdline(c->j, e->key.cmdline))
			report_weight_add(&c->unknown, &e->weight);
	}
	restore_key(c->to, &passed.key);
	return c->to->entry(c->to->arg, &passed);
}

struct reports_commands *reports_commands_new(struct job *j, const struct report_sink *to)
{
	struct reports_commands *c = j->output->has_target ? mem_zalloc(sizeof(*c)) : NULL;

	if (!c)
		return NULL;
	c->j = j;
	c->event = event_of(j);
	c->to = to;
	c->sink = *to;
	c->sink.parts |= ADDED_PARTS | REPORT_BY_SESSION;
	c->sink.entry = add_entry;
	c->sink.arg = c;
	dict_init(&c->processes, sizeof(struct process), DICT_KEY(struct process, comm), DICT_MAX);
	return c;
}

void reports_commands_free(struct reports_commands *c)
{
	if (!c)
		return;
	dict_fini(&c->processes);
	mem_free(c);
}

const struct report_sink *reports_commands_sink(const struct reports_commands *c)
{
	return &c->sink;
}

static int by_pid(const void *a, const void *b)
{
	const struct process *const *x = a, *const *y = b;

	return order_u64((*x)->session, (*y)->session) ?: order_u64((*x)->pid, (*y)->pid);
}

static int by_weight(const void *a, const void *b)
{
	const struct command *const *x = a, *const *y = b;

	return order_u64((*y)->weight.weight, (*x)->weight.weight)
		   ?: strcmp((*x)->label, (*y)->label);
}

static size_t count_processes(struct process *const *list, size_t nr)
{
	size_t found = 0;

	for (size_t i = 0; i < nr; i++)
		found += !i || by_pid(&list[i - 1], &list[i]) != 0;
	return found;
}

static int add_command(const struct reports_commands *c, const struct process *p, bool with_file,
		       struct dict *commands)
{
	const char *cmdline = samples_cmdline(c->j, p->cmdline);
	char label[COMMANDS_LABEL_BYTES];
	struct command *command;

	/* a short process has ended before its command line is read */
	commands_label(cmdline ?: report_functions_text(c->j->inputs->functions, p->comm),
		       with_file, label);
	command = dict_get(commands, label);
	if (!command)
		return -ENOMEM;
	if (!command->nr_processes || command->last_pid != p->pid ||
	    command->last_session != p->session)
		command->nr_processes++;
	command->last_pid = p->pid;
	command->last_session = p->session;
	report_weight_add(&command->weight, &p->weight);
	return 0;
}

static size_t nr_rows(const struct reports_commands *c)
{
	return job_is_tight(c->j) ? ROWS_TIGHT : c->j->selection->rows ? ROWS_FITTED : ROWS;
}

/* *sorted is owned by the caller. 0 or -ENOMEM. */
static int make_commands(const struct reports_commands *c, struct process *const *list,
			 bool with_file, struct dict *commands, struct command ***sorted)
{
	int rc = 0;

	dict_init_texts(commands, sizeof(struct command), DICT_MAX, MAX_TEXT_BYTES);
	for (size_t i = 0; i < c->processes.nr && rc == 0; i++)
		rc = add_command(c, list[i], with_file, commands);
	*sorted = rc ? NULL : dict_pointers(commands);
	if (!*sorted)
		return -ENOMEM;
	qsort(*sorted, commands->nr, sizeof(**sorted), by_weight);
	return 0;
}

/* The rows that are printed have most of it, and nearly all processes have a file that they could
 * work on. */
static bool are_few(const struct reports_commands *c, struct command *const *sorted, size_t nr)
{
	double sum = 0;

	for (size_t i = 0; i < nr && i < nr_rows(c); i++)
		sum += (double)sorted[i]->weight.weight;
	return sum >= most * (double)c->all.weight &&
	       (double)c->unknown.weight <= few * (double)c->all.weight;
}

static void put_rest(const struct reports_commands *c, struct command *const *sorted, size_t nr,
		     struct grid *g)
{
	struct report_weight rest = {0};
	char line[160];

	for (size_t i = nr_rows(c); i < nr; i++)
		report_weight_add(&rest, &sorted[i]->weight);
	if (nr <= nr_rows(c))
		return;
	snprintf(line, sizeof(line), "… %zu more: %s %% (--report=flat --sort=cmdline shows all)",
		 nr - nr_rows(c), DECIMAL(100 * reports_share_of(&rest, &c->all).share, 1));
	grid_line(g, line);
}

static int put_table(struct reports_commands *c, struct command *const *sorted, size_t nr,
		     size_t nr_processes, struct err *e)
{
	const struct grid_column columns[] = {
	    {"share", NULL, NULL, GRID_SHARE, GRID_ALL},
	    {"processes", NULL, NULL, GRID_COUNT, GRID_ALL},
	    {"count", NULL, job_event(c->j, c->event)->unit, GRID_AMOUNT, GRID_ALL, .leaves = 1},
	    {"command", NULL, NULL, GRID_TEXT, GRID_ALL},
	};
	struct grid *g = reports_grid(c->j, columns, ARRAY_NR(columns));
	struct buf *b = &c->j->output->text;

	if (!g)
		return err_set(e, -ENOMEM, "out of memory");
	if (!job_is_tight(c->j))
		buf_addc(b, '\n');
	buf_printf(b, "%s by command, of %s processes\n", job_event(c->j, c->event)->label,
		   COMMAS(nr_processes));
	for (size_t i = 0; i < nr && i < nr_rows(c); i++) {
		const struct interval share = reports_share_of(&sorted[i]->weight, &c->all);

		grid_row(g);
		grid_share(g, &share);
		grid_count(g, sorted[i]->nr_processes);
		grid_count(g, reports_amount(c->j, c->event, sorted[i]->weight.weight));
		grid_text(g, sorted[i]->label);
	}
	put_rest(c, sorted, nr, g);
	return reports_end(c->j, g, 0, e);
}

/* One has half of all: functions are those of it. */
static bool has_main_process(const struct reports_commands *c, struct process *const *list)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < c->processes.nr; i++) {
		if (i && by_pid(&list[i - 1], &list[i]) != 0)
			sum = 0;
		sum += list[i]->weight.weight;
		if ((double)sum >= most * (double)c->all.weight)
			return true;
	}
	return false;
}

/* The sentence above the answer names programs, not the files that each process works on. */
static int set_program(const struct reports_commands *c, struct process *const *list)
{
	struct dict commands = {0};
	struct command **sorted;
	int rc = make_commands(c, list, false, &commands, &sorted);

	if (rc == 0 && commands.nr)
		conclusion_set_program(&c->j->output->conclusion, sorted[0]->label,
				       sorted[0]->nr_processes, &sorted[0]->weight, &c->all);
	mem_free(sorted);
	dict_fini(&commands);
	return rc;
}

int reports_commands_put(struct reports_commands *c, struct err *e)
{
	struct process **list = dict_pointers(&c->processes);
	struct command **sorted = NULL;
	struct dict commands = {0};
	size_t nr_processes;
	int rc;

	if (!list)
		return err_set(e, -ENOMEM, "out of memory");
	qsort(list, c->processes.nr, sizeof(struct process *), by_pid);
	nr_processes = count_processes(list, c->processes.nr);
	c->j->output->conclusion.nr_processes = has_main_process(c, list) ? 1 : nr_processes;
	rc = set_program(c, list);
	if (c->j->output->form != GRID_PEOPLE) /* all rows of a report have the same fields */
		nr_processes = 0;
	if (rc || nr_processes < CONCLUSION_MANY_PROCESSES) {
		mem_free(list);
		return rc ? err_set(e, rc, "out of memory") : 0;
	}
	rc = make_commands(c, list, true, &commands, &sorted);
	if (rc == 0 && !are_few(c, sorted, commands.nr)) { /* a compile of many files */
		mem_free(sorted);
		dict_fini(&commands);
		rc = make_commands(c, list, false, &commands, &sorted);
	}
	rc = rc ? err_set(e, rc, "out of memory")
		: put_table(c, sorted, commands.nr, nr_processes, e);
	mem_free(sorted);
	dict_fini(&commands);
	mem_free(list);
	return rc;
}
