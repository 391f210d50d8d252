#include "experiments/causal.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt_std.h"
#include "base/str.h"
#include "causal/rounds.h"
#include "experiments/causal_calls.h"
#include "experiments/causal_core.h"
#include "experiments/causal_lines.h"
#include "experiments/causal_regions.h"
#include "experiments/causal_scope.h"
#include "guests.h"
#include "options.h"
#include "parts.h"
#include "program.h"
#include "target/command.h"
#include "wire/loadable.h"
#include "wire/wire.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MAX_TEXT = 1 << 20,
	MOST_PATH = 120,
	MAX_STRINGS = 64 << 20,
	USUAL_PERCENT = 50,
	MAX_PERCENT = 100
};
/* Of the CPU time, in functions that are meant where none is named: less is said. */
#define LITTLE 0.5

/* --- options */

/* Drawn anew in each round, evenly from 5 to 100 in steps of 5: in four parts, each of which is a
 * row, at its middle. So each round has each part, and no amount is always the same. */
enum { PARTS = 4, PART_STEPS = 5, STEP = 5 };

static unsigned middle_of(size_t part)
{
	return (unsigned)(STEP * (PART_STEPS * part + (PART_STEPS + 1) / 2));
}

static unsigned draw(struct causal *c, unsigned middle)
{
	const uint64_t chance = hash_mix(hash_mix(c->result.seed, c->nr_drawn++), 1) >> 8;

	return middle + (unsigned)(chance % PART_STEPS) * STEP - PART_STEPS / 2 * STEP;
}

/* "random" or "random:SEED". */
static int parse_random(struct causal *c, const char *text, struct err *e)
{
	uint64_t seed = 1 + clock_realtime_ns() % UINT32_MAX;

	if (*text && (*text != ':' || str_parse_u64(text + 1, &seed) || !seed || seed > INT64_MAX))
		return err_set(e, -EINVAL, "--speedup=%s: must be random or random:SEED",
			       c->o->versus.speedup);
	c->result.seed = seed;
	while (c->nr_percent < PARTS) {
		c->percent[c->nr_percent] = middle_of(c->nr_percent);
		c->nr_percent++;
	}
	return 0;
}

static int parse_speedups(struct causal *c, const char *text, struct err *e)
{
	static const char random[] = "random";
	char *end;

	if (strncmp(text, random, sizeof(random) - 1) == 0)
		return parse_random(c, text + sizeof(random) - 1, e);
	for (;; text = end + 1) {
		const long percent = strtol(text, &end, 10);

		end += *end == '%';
		if (end == text || percent < 1 || percent > MAX_PERCENT || (*end && *end != ','))
			return err_set(e, -EINVAL, "--speedup=%s: must be 1 to %d, as 25,50",
				       c->o->versus.speedup, MAX_PERCENT);
		if (c->nr_percent == CAUSAL_MAX_SPEEDUPS)
			return err_set(e, -EINVAL, "--speedup=%s: at most %d of them",
				       c->o->versus.speedup, CAUSAL_MAX_SPEEDUPS);
		c->percent[c->nr_percent++] = (unsigned)percent;
		if (!*end)
			return 0;
	}
}

struct places;

/* What candidates are. */
struct causal_kind {
	const char *name, *all; /* all: the scope without one */
	int (*find)(struct causal *c, struct err *e);
	int (*add)(struct causal *c, struct places *places, struct err *e); /* of find_code */
	int (*refuse)(struct causal *c, struct err *e);                     /* none has run */
	void (*look)(struct causal *c);                                     /* NULL: all is known */
	bool needs_marks;                                                   /* in all runs */
};

/* --- the functions */

static int add_function(struct causal *c, const struct functions_place *p)
{
	const struct causal_candidate one = {.path = p->path, .name = p->name};
	struct causal_range range = {
	    .address = p->address, .size = p->size, .candidate = (uint32_t)c->candidates.nr};
	struct stat st;

	if (!p->size || stat(p->path, &st))
		return 0;
	range.device = st.st_dev;
	range.inode = st.st_ino;
	return causal_candidates_add(&c->candidates, &one)
		   ?: causal_candidates_add_range(&c->candidates, &range);
}

/* The functions that are meant. */
struct places {
	struct arena *strings;
	struct functions_place *list; /* owned */
	size_t nr, room;
	const char *named, *path; /* of the last one: as it is named, and behind all links */
};

/* As the program has mapped it, and so the recorded run. Those of one file follow each other. */
static int find_file(struct places *places, const char *named)
{
	char path[PATH_MAX];

	if (places->named && strcmp(places->named, named) == 0)
		return 0;
	places->named = named;
	places->path = realpath(named, path) ? arena_strdup(places->strings, path) : named;
	return places->path ? 0 : -ENOMEM;
}

static int add_place(void *arg, const struct functions_place *p)
{
	struct places *places = arg;
	struct functions_place *to = MEM_ADD(places->list, places->nr, places->room);

	if (!to || find_file(places, p->path))
		return -ENOMEM;
	*to = *p;
	to->path = places->path;
	return 0;
}

static int add_functions(struct causal *c, struct places *places, struct err *e)
{
	(void)e;
	return ARRAY_RUN(i, places->nr, add_function(c, &places->list[i]));
}

static int add_lines(struct causal *c, struct places *places, struct err *e)
{
	return causal_lines_add(places->list, places->nr, &c->strings, &c->candidates, e);
}

static int find_code(struct causal *c, struct err *e)
{
	struct places places = {.strings = &c->strings};
	int rc = causal_scope_find(c->scope, &c->machine.events.catalogue, add_place, &places, e);

	rc = rc ?: c->kind->add(c, &places, e);
	mem_free(places.list);
	return rc ?: c->candidates.nr ? 0 : err_set(e, -ENOENT, "--causal: no function is meant");
}

static int find_regions(struct causal *c, struct err *e)
{
	if (!*c->scope)
		return err_set(e, -EINVAL, "--causal=%s: names no regions", c->o->versus.causal);
	return causal_regions_add(&c->candidates);
}

static int refuse_code(struct causal *c, struct err *e)
{
	err_set_at(e, -ENODATA, c->subject, 0, 0,
		   "of %.0f ms of CPU time nothing was in a function that is meant",
		   (double)c->shared.at->sampled_ns / 1e6);
	err_hint(e, "name others: --causal='libfoo*:*', or make the command run for longer");
	return e->code;
}

static int refuse_regions(struct causal *c, struct err *e)
{
	const struct causal_regions_marks marks = {causal_point_has_marks(c->point),
						   causal_point_lost(c->point)};

	return causal_regions_refuse(&c->candidates, c->scope, &marks, c->subject, e);
}

static void look_at_regions(struct causal *c)
{
	causal_regions_look(&c->shared, c->scope, &c->strings, &c->candidates);
}

/* By the name in the option, alone or before a colon and the scope; the last one has none. */
static const struct causal_kind kinds[] = {
    {"lines", "*", find_code, add_lines, refuse_code, NULL, false},
    {"regions", "*", find_regions, NULL, refuse_regions, look_at_regions, true},
    {"", NULL, find_code, add_functions, refuse_code, NULL, false},
};

/* NULL: the text is of another kind. */
static const char *scope_of(const struct causal_kind *k, const char *text)
{
	const size_t len = strlen(k->name);

	if (!len || strncmp(text, k->name, len) != 0)
		return len ? NULL : text;
	return !text[len] ? k->all : text[len] == ':' ? text + len + 1 : NULL;
}

static void set_kind(struct causal *c)
{
	c->kind = &kinds[ARRAY_NR(kinds) - 1];
	for (size_t i = ARRAY_NR(kinds); i-- > 0 && c->o->versus.causal;) {
		const char *scope = scope_of(&kinds[i], c->o->versus.causal);

		c->kind = scope ? &kinds[i] : c->kind;
		c->scope = scope ?: c->scope;
	}
}

static int find_candidates(struct causal *c, struct err *e)
{
	int rc = c->kind->find(c, e);

	return rc && !e->code ? err_set(e, rc, "--causal: %s", strerror(-rc)) : rc;
}

/* --- the command's environment */

static int load_agent(struct causal *c, struct err *e)
{
	char *const *argv = c->o->command_argv;
	const char *own = getenv("LD_PRELOAD");
	char library[PATH_MAX];
	BUF_AUTO(all, MAX_TEXT);

	if (part_check_preload(PART_CAUSAL, library, e))
		return e->code;
	buf_printf(&all, "%s%s%s", library, own && *own ? ":" : "", own ?: "");
	if (buf_error(&all))
		return err_set(e, buf_error(&all), "LD_PRELOAD is too long");
	return versus_runner_set_variable(c->turns.runner, argv, CAUSAL_MEMORY_VARIABLE,
					  wire_name(c->wire), e)
		   ?: versus_runner_set_variable(c->turns.runner, argv, "LD_PRELOAD", buf_str(&all),
						 e);
}

static int set_variable(void *arg, const char *name, const char *value, struct err *e)
{
	struct causal *c = arg;

	return versus_runner_set_variable(c->turns.runner, c->o->command_argv, name, value, e);
}

static int set_marks(struct causal *c, const char *socket, struct err *e)
{
	return set_variable(c, "CPUPERF_MARKS", socket, e);
}

/* Marks are received in the first run also without a point: they could be one. */
static int open_wire(struct causal *c, struct err *e)
{
	struct wire_config config = {.has_experiment = true, .experiment = c->shared.fd};
	int rc = causal_point_open(c->o->versus.progress, c->kind->needs_marks, &c->machine,
				   &c->point, e);

	if (rc)
		return rc;
	causal_point_listen(c->point, &c->attached, &config);
	rc = wire_open(&config, &c->wire, e);
	if (rc)
		return rc;
	rc = wire_start(c->wire);
	if (rc)
		return err_set(e, rc, "no thread can be started: %s", strerror(-rc));
	if (c->attached.pid)
		return 0;
	rc = load_agent(c, e) ?: config.marks ? set_marks(c, wire_name(c->wire), e) : 0;
	return rc ?: c->kind->needs_marks ? guests_set_variables(set_variable, c, e) : 0;
}

/* --- what is tried */

void causal_look_at_times(struct causal *c)
{
	causal_shared_times(&c->shared, &c->candidates);
	if (c->kind->look)
		c->kind->look(c);
}

static uint32_t longest(const struct causal *c)
{
	const struct causal_candidate *list = c->candidates.list;
	uint32_t best = CAUSAL_MEMORY_NONE;

	for (uint32_t i = 0; i < c->candidates.nr; i++)
		if (list[i].ns && !ARRAY_ANY(x, c->chosen, c->nr_chosen, *x == i) &&
		    (best == CAUSAL_MEMORY_NONE || list[i].ns > list[best].ns))
			best = i;
	return best;
}

static void add_arms(struct causal *c, uint32_t number)
{
	struct causal_result *r = &c->result;
	const struct causal_candidate *one = &c->candidates.list[number];

	elf_demangle(one->name, c->name[c->nr_chosen]);
	for (size_t k = 0; k < c->nr_percent; k++) {
		struct turns_arm *arm = &c->arm[c->turns.nr_arms++];

		*arm = c->arm[0];
		r->row[r->nr++] = (struct causal_row){
		    .of = c->o->versus.progress ? CAUSAL_OF_THROUGHPUT : CAUSAL_OF_WALL,
		    .name = c->name[c->nr_chosen],
		    .linkage_name = one->name,
		    .object = one->path,
		    .source = one->source,
		    .line = one->line,
		    .region = one->region,
		    .percent = c->percent[k]};
	}
	c->chosen[c->nr_chosen++] = number;
}

int causal_choose(struct causal *c, struct err *e)
{
	uint32_t next;

	for (size_t i = 0; i < c->candidates.nr; i++)
		c->result.nr_ran += c->candidates.list[i].ns > 0;
	while (c->nr_chosen < CAUSAL_MAX_FUNCTIONS && (next = longest(c)) != CAUSAL_MEMORY_NONE)
		add_arms(c, next);
	if (c->nr_chosen)
		return 0;
	return c->kind->refuse(c, e);
}

void causal_set_shares(struct causal *c)
{
	struct causal_result *r = &c->result;

	causal_look_at_times(c);
	for (size_t i = 0; i < r->nr && c->sampled_ns; i++) {
		/* behind the rows of throughput are those of latency, of the same candidates */
		const size_t at = i / (c->nr_percent ?: 1) % (c->nr_chosen ?: 1);
		const double ns = (double)c->candidates.list[c->chosen[at]].ns;

		r->row[i].on_cpu = fmin(ns / (double)c->sampled_ns, 1);
	}
}

void causal_try(struct causal *c, size_t arm)
{
	const unsigned percent = arm ? c->percent[(arm - 1) % c->nr_percent] : 0;

	if (arm)
		causal_shared_try(&c->shared, c->chosen[(arm - 1) / c->nr_percent],
				  c->result.seed ? draw(c, percent) : percent);
	else
		causal_shared_try(&c->shared, CAUSAL_MEMORY_NONE, 0);
}

int causal_check_agent(const struct causal *c, struct err *e)
{
	if (c->shared.at->first_pid)
		return 0;
	err_set_at(e, -ENOTSUP, c->subject, 0, 0, "libcpuperf-causal.so is not loaded into it");
	return e->code;
}

pid_t causal_pid(const struct causal *c)
{
	return c->attached.pid ?: versus_runner_pid(c->turns.runner);
}

bool causal_has_ended(const struct causal *c, uint64_t until_ns)
{
	return c->attached.pid ? causal_attached_has_ended(&c->attached, until_ns)
			       : versus_runner_has_ended(c->turns.runner, until_ns);
}

/* Where calls cannot be counted: the one that runs most may be called often, or once. */
static const char *function_that_runs_most(struct causal *c)
{
	uint32_t most;

	causal_look_at_times(c);
	most = longest(c);
	return most == CAUSAL_MEMORY_NONE || c->candidates.nr_regions
		   ? "NAME"
		   : c->candidates.list[most].name;
}

void causal_hint_points(struct causal *c, struct err *e)
{
	BUF_AUTO(points, MAX_TEXT);
	BUF_AUTO(calls, MAX_TEXT);
	BUF_AUTO(object, PATH_MAX + 1);
	const char *passed = "";

	causal_points_list(c->point, &c->shared, &points);
	if (points.len && buf_error(&points) == 0)
		passed = "what it has passed: ";
	else
		buf_reset(&points);
	if (!causal_has_ended(c, 0) && !turns_caught())
		causal_calls_put(c, &object, &calls);
	if (calls.len && buf_error(&calls) == 0)
		err_hint(e,
			 "%s%.100s%sfunctions by how often they are called in a second: %.200s "
			 "(--progress=function:%sNAME)",
			 passed, buf_str(&points), points.len ? "; " : "", buf_str(&calls),
			 object.len > MOST_PATH ? "FILE:" : buf_str(&object));
	else if (points.len)
		err_hint(e, "%s%.300s", passed, buf_str(&points));
	else
		err_hint(e,
			 "name a function that is called for each piece of work: "
			 "--progress=function:%.100s%s",
			 function_that_runs_most(c),
			 geteuid() ? "; as root it is counted here which ones are called how often"
				   : "");
}

/* --- runs */

static void add_run(struct causal *c)
{
	const struct causal_memory *m = c->shared.at;

	c->sampled_ns += m->sampled_ns;
	c->queued_ns += m->queued_ns;
	if (c->sampled_ns)
		c->result.queued =
		    (double)c->queued_ns / ((double)c->queued_ns + (double)c->sampled_ns);
	if (m->nr_unsampled > c->result.nr_unsampled)
		c->result.nr_unsampled = m->nr_unsampled;
}

static int refuse_endless(struct causal *c, struct err *e)
{
	err_set_at(
	    e, -ETIMEDOUT, c->subject, 0, 0,
	    "did not end within %.3g s, and whole runs are measured: allow more (--at-most), or "
	    "measure how often a point is passed: --progress=POINT",
	    (double)c->turns.rule.at_most_ns / 1e9);
	causal_hint_points(c, e);
	versus_runner_stop(c->turns.runner, SIGKILL);
	return e->code;
}

/* A run that decides which functions are tried. */
static int run_first(struct causal *c, struct err *e)
{
	struct turns *t = &c->turns;
	const uint64_t at_most_ns = t->rule.at_most_ns, now_ns = clock_monotonic_ns();
	const uint64_t until_ns =
	    at_most_ns < UINT64_MAX - now_ns ? now_ns + at_most_ns : UINT64_MAX;
	struct versus_run run;
	int rc;

	causal_shared_reset(&c->shared);
	rc = versus_runner_begin(t->runner, c->arm[0].argv, VERSUS_MEASURED, e);
	if (rc)
		return rc;
	while (!versus_runner_has_ended(t->runner, until_ns) && !turns_caught() && rc == 0)
		if (clock_monotonic_ns() >= until_ns)
			rc = refuse_endless(c, e);
	versus_runner_end(t->runner, &run);
	if (rc || turns_caught() || run.status == 0 || c->o->versus.ignores_status)
		return rc;
	/* aside, what it says is stored */
	return turns_try(t, 0, e)
		   ?: turns_check_end(t, c->o->command_argv[0], "the first run", run.status, e);
}

static int survey(struct turns *t, void *arg, struct err *e)
{
	struct causal *c = arg;
	int rc = run_first(c, e);

	if (rc || turns_caught())
		return rc;
	causal_look_at_times(c);
	add_run(c);
	(void)t;
	return causal_check_agent(c, e)
		   ?: causal_choose(c, e)
		   ?: c->kind->needs_marks ? 0
					   : set_marks(c, "", e);
}

static int begin_run(struct turns *t, size_t arm, void *arg, struct err *e)
{
	struct causal *c = arg;

	(void)t;
	(void)e;
	causal_shared_reset(&c->shared);
	causal_try(c, arm);
	return 0;
}

/* It is used by the same rule as a round. What threads were slowed down is not the program's time.
 */
static int add_whole_run(struct causal *c, size_t arm, double wall_s)
{
	const struct causal_memory *m = c->shared.at;
	const size_t number = c->turns.nr_rounds * c->turns.nr_arms + arm;
	struct causal_run *list = mem_grow(c->run, number, &c->run_room, sizeof(*list));

	if (!list)
		return -ENOMEM;
	c->run = list;
	list[number] = (struct causal_run){
	    .wall_s = wall_s - fmin((double)m->behind_ns / 1e9, wall_s),
	    .is_used = !causal_round_is_disturbed(wall_s, (double)m->sampled_ns / 1e9,
						  (double)m->queued_ns / 1e9)};
	return 0;
}

static int end_run(struct turns *t, size_t arm, struct versus_run *run, void *arg, struct err *e)
{
	struct causal *c = arg;
	int rc = causal_check_agent(c, e);

	(void)t;
	if (rc)
		return rc;
	if (add_whole_run(c, arm, run->value[VERSUS_WALL]))
		return err_set(e, -ENOMEM, "out of memory");
	add_run(c);
	return 0;
}

double causal_close(const struct causal_result *r)
{
	return r->rule.until > 0 ? r->rule.until : CAUSAL_CLOSE;
}

double causal_half(const struct paired *saved)
{
	return (saved->high - saved->low) / 2;
}

bool causal_is_row_known(const struct causal_result *r, const struct causal_row *row)
{
	return row->saved.nr >= PAIRED_MIN && causal_half(&row->saved) <= causal_close(r);
}

static bool is_known(const struct causal_result *r)
{
	if (r->rule.nr_pairs)
		return r->nr_rounds >= r->rule.nr_pairs;
	return r->nr_rounds && !ARRAY_ANY(x, r->row, r->nr, !causal_is_row_known(r, x));
}

static int make_row(const struct causal *c, size_t i, double *saved, struct causal_result *r)
{
	const size_t nr = causal_runs_compare(c->run, r->nr_rounds, c->turns.nr_arms, 1 + i, saved);

	return nr ? paired_interval_of(saved, nr, 0, r->rule.nr_pairs, CAUSAL_ERROR / (double)r->nr,
				       &r->row[i].saved)
		  : 0;
}

static void count_runs(const struct causal *c, struct causal_result *r)
{
	const size_t nr_arms = c->turns.nr_arms;
	double wall_s = 0;
	size_t nr = 0;

	r->nr_used = r->nr_unused = 0;
	for (size_t i = 0; i < r->nr_rounds * nr_arms; i++) {
		r->nr_used += c->run[i].is_used;
		r->nr_unused += !c->run[i].is_used;
		if (i % nr_arms || !c->run[i].is_used)
			continue;
		wall_s += c->run[i].wall_s;
		nr++;
	}
	r->wall = nr ? wall_s / (double)nr : 0;
}

static int look(struct turns *t, void *arg)
{
	struct causal *c = arg;
	struct causal_result *r = &c->result;
	MEM_AUTO double *saved = mem_calloc(t->nr_rounds ?: 1, sizeof(*saved));
	int rc = saved ? 0 : -ENOMEM;

	r->nr_rounds = t->nr_rounds;
	r->seconds = t->seconds;
	count_runs(c, r);
	rc = rc ? rc : ARRAY_RUN(i, r->nr, make_row(c, i, saved, r));
	if (rc)
		return rc;
	causal_set_shares(c);
	t->is_known = r->is_known = is_known(r);
	return 0;
}

static void put_status(const struct turns *t, const void *arg, struct buf *out)
{
	const struct causal_result *r = &((const struct causal *)arg)->result;
	double most = 0;

	for (size_t i = 0; i < r->nr; i++)
		most = fmax(most, r->row[i].saved.nr ? causal_half(&r->row[i].saved) : INFINITY);
	buf_printf(out, "%zu runs of %zu experiments in %.0f s", t->nr_rounds, t->nr_arms,
		   t->seconds);
	if (t->nr_rounds && isfinite(most))
		buf_printf(out, ": known within %.2g %%", 100 * most);
	if (r->nr_unused)
		buf_printf(out, " (%zu not used)", r->nr_unused);
}

/* --- the whole */

/* Of a program that loads no agent the recorded run is all that there is: one that ends. */
static bool is_possible(struct causal *c)
{
	struct loadable_judged judged;

	loadable_judge_named(getenv("PATH"), c->o->command_argv[0], &judged);
	if (judged.answer == LOADABLE_YES || judged.answer == LOADABLE_SANITIZER)
		return true;
	snprintf(c->why_none, sizeof(c->why_none), "%s %s", judged.name,
		 loadable_reason(judged.answer));
	c->result.why_none = c->why_none;
	return false;
}

static int prepare(struct causal *c, struct err *e)
{
	const struct options *o = c->o;
	int rc = turns_init(&c->turns, o, e);

	if (rc)
		return rc;
	if (o->versus.speedup)
		rc = parse_speedups(c, o->versus.speedup, e);
	else
		c->percent[c->nr_percent++] = USUAL_PERCENT;
	rc = rc ?: machine_init(&c->machine, "default", e);
	if (rc)
		return rc;
	c->has_machine = true;
	if (o->pids) {
		rc = causal_attached_open(&c->attached, o->pids, e);
		if (rc)
			return rc;
		c->machine.objects.pids = c->attached.pids;
		c->machine.objects.nr_pids = 1;
		c->subject = c->attached.subject;
		snprintf(c->text, sizeof(c->text), "%s", c->subject);
	} else {
		c->machine.objects.command = c->subject = o->command_argv[0];
		target_command_quote(o->command_argv, c->text, CAUSAL_TEXT_BYTES);
	}
	c->arm[0].argv = o->command_argv;
	c->arm[0].prepare = c->turns.prepare;
	snprintf(c->arm[0].name, sizeof(c->arm[0].name), "measured");
	c->turns.arm = c->arm;
	c->turns.nr_arms = 1;
	c->result.command = c->text;
	c->result.point = o->versus.progress;
	c->result.rule = c->turns.rule;
	c->result.is_of_regions = c->kind->needs_marks;
	rc = causal_kept_check(o, e);
	if (rc)
		return rc;
	if (!o->pids && !is_possible(c))
		return o->versus.progress ? err_set(e, -ENOTSUP, "--causal: %s", c->why_none) : 0;
	return find_candidates(c, e)
		   ?: causal_shared_open(&c->candidates, causal_point_region(o->versus.progress),
					 &c->shared, e)
			      ?: open_wire(c, e);
}

/* A program without names may be fast where nothing is known of it. */
static void warn_of_little(const struct causal *c)
{
	uint64_t ns = 0;

	for (size_t i = 0; i < c->candidates.nr; i++)
		ns += c->candidates.list[i].ns;
	if (!c->o->versus.causal && (double)ns < LITTLE * (double)c->sampled_ns)
		log_warning(
		    "%.3g %% of the CPU time was in functions that could be tried: the rest "
		    "is in code without names (install its debug package; Debian: "
		    "NAME-dbgsym), or in other files (--causal='OBJECT:*')",
		    100 * (double)ns / (double)c->sampled_ns);
}

static int measure_and_print(struct causal *c)
{
	struct turns *t = &c->turns;
	struct err e = {0};
	int status = EXIT_DONE, rc = 0;

	t->look = look;
	t->put_status = put_status;
	t->survey = survey;
	t->begin = begin_run;
	t->end = end_run;
	t->arg = c;
	if (!c->result.why_none)
		rc = c->o->versus.progress ? causal_rounds_run(c, &e) : turns_run(t, &e);
	if (rc == -ENOTSUP &&
	    !c->o->versus.progress) { /* as of a script that runs such a program */
		snprintf(c->why_none, sizeof(c->why_none), "%.200s: %.200s", e.source, e.msg);
		c->result.why_none = c->why_none;
		rc = 0;
	}
	c->result.is_cut = turns_caught();
	if (rc == 0 && (c->result.nr_rounds || !turns_caught()))
		status = causal_kept_print(&c->result, t);
	if (rc == 0)
		warn_of_little(c);
	if (rc == 0 && c->candidates.nr_regions)
		causal_regions_warn(&c->candidates, c->scope, causal_point_lost(c->point));
	turns_clean_up(t);
	return rc ? fail(turns_status_of(&e), &e) : turns_status(status);
}

static void fini(struct causal *c)
{
	causal_attached_close(&c->attached); /* while the wire still answers */
	wire_free(c->wire);                  /* before the point, which its thread uses */
	causal_point_close(c->point);
	causal_shared_close(&c->shared);
	causal_candidates_fini(&c->candidates);
	arena_fini(&c->strings);
	mem_free(c->run);
	if (c->has_machine)
		machine_fini(&c->machine);
	turns_fini(&c->turns);
}

int causal(struct options *o)
{
	MEM_AUTO struct causal *c = mem_zalloc(sizeof(*c));
	struct err e = {0};
	int status, rc;

	if (!c) {
		log_error("out of memory");
		return EXIT_NOT_MEASURED;
	}
	c->o = o;
	set_kind(c);
	c->shared.fd = c->attached.fd = -1;
	arena_init(&c->strings, MAX_STRINGS);
	turns_catch_signals(&(struct turns){.runner = o->versus.runner});
	rc = o->pids ? 0 : target_command_find(o->command_argv[0]);
	if (rc) {
		err_set_at(&e, rc, o->command_argv[0], 0, 0, "cannot be executed: %s",
			   strerror(-rc));
		status = fail(turns_status_of(&e), &e);
	} else {
		status = prepare(c, &e) ? fail(EXIT_NOT_MEASURED, &e) : measure_and_print(c);
	}
	fini(c);
	return status;
}
