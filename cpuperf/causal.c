#include "causal.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/opt_std.h"
#include "base/str.h"
#include "causal_scope.h"
#include "machine.h"
#include "options.h"
#include "parts.h"
#include "program.h"
#include "target/command.h"
#include "turns.h"
#include "wire/causal_memory.h"
#include "wire/loadable.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_TEXT = 1 << 20, TEXT_BYTES = 256, USUAL_PERCENT = 50, MAX_PERCENT = 100 };

/* A function that is meant. Strings are of the machine's arena. */
struct function {
	const char *path, *name;
	uint64_t device, inode, address, size;
	uint64_t ns; /* CPU time, of all runs */
};

struct causal {
	const struct options *o;
	struct turns turns;
	struct machine machine;
	bool has_machine;
	struct function *function; /* owned; as in the memory */
	size_t nr, room;
	char path[PATH_MAX]; /* of the memory; "": there is none */
	int memory;
	struct causal_memory *image; /* owned; as it is before a run */
	unsigned percent[CAUSAL_MAX_SPEEDUPS];
	size_t nr_percent;
	uint32_t chosen[CAUSAL_MAX_FUNCTIONS]; /* the longest first */
	size_t nr_chosen;
	uint64_t sampled_ns, queued_ns; /* of all runs */
	char name[CAUSAL_MAX_FUNCTIONS][ELF_MAX_NAME_BYTES];
	struct turns_arm arm[1 + CAUSAL_MAX_FUNCTIONS * CAUSAL_MAX_SPEEDUPS];
	char text[TEXT_BYTES]; /* the command line */
	char why_none[2 * TEXT_BYTES];
	struct causal_result result;
};

/* --- options */

static int parse_speedups(struct causal *c, const char *text, struct err *e)
{
	char *end;

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

/* --- the functions */

static int add_function(void *arg, const struct functions_place *p)
{
	struct causal *c = arg;
	struct function *to;
	struct stat st;

	if (!p->size || stat(p->path, &st))
		return 0;
	to = MEM_ADD(c->function, c->nr, c->room);
	if (!to)
		return -ENOMEM;
	*to = (struct function){.path = p->path,
				.name = p->name,
				.device = st.st_dev,
				.inode = st.st_ino,
				.address = p->address,
				.size = p->size};
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct function *x = a, *y = b;

	return (x->device > y->device) - (x->device < y->device)
		   ?: (x->inode > y->inode) - (x->inode < y->inode)
			  ?: (x->address > y->address) - (x->address < y->address);
}

static void sort_functions(struct causal *c)
{
	size_t nr = 0;

	qsort(c->function, c->nr, sizeof(*c->function), compare);
	for (size_t i = 0; i < c->nr; i++)
		if (!nr || compare(&c->function[nr - 1], &c->function[i]) != 0)
			c->function[nr++] = c->function[i];
	c->nr = nr;
}

static int find_functions(struct causal *c, struct err *e)
{
	if (causal_scope_find(c->o->versus.causal, &c->machine.events.catalogue, add_function, c,
			      e))
		return e->code;
	sort_functions(c);
	if (!c->nr || c->nr > CAUSAL_MEMORY_FUNCTIONS)
		return err_set(e, -E2BIG, "--causal: %zu functions are meant; 1 to %d can be",
			       c->nr, CAUSAL_MEMORY_FUNCTIONS);
	return 0;
}

/* --- the memory */

static bool is_of_next_object(const struct causal *c, size_t i)
{
	return !i || c->function[i].inode != c->function[i - 1].inode ||
	       c->function[i].device != c->function[i - 1].device;
}

static int make_image(struct causal *c, struct err *e)
{
	struct causal_memory_object *object;
	struct causal_memory_function *f;
	uint32_t nr_objects = 0, at = 0;

	for (size_t i = 0; i < c->nr; i++)
		nr_objects += is_of_next_object(c, i);
	if (nr_objects > CAUSAL_MEMORY_OBJECTS)
		return err_set(e, -E2BIG, "--causal: functions of more than %d files are meant",
			       CAUSAL_MEMORY_OBJECTS);
	c->image = mem_zalloc(causal_memory_bytes(nr_objects, (uint32_t)c->nr));
	if (!c->image)
		return err_set(e, -ENOMEM, "out of memory");
	*c->image = (struct causal_memory){.magic = CAUSAL_MEMORY_MAGIC,
					   .nr_objects = nr_objects,
					   .nr_functions = (uint32_t)c->nr,
					   .chosen = CAUSAL_MEMORY_NONE};
	object = (void *)(c->image + 1);
	f = (void *)((char *)c->image + causal_memory_functions_at(nr_objects));
	for (size_t i = 0; i < c->nr; i++) {
		if (is_of_next_object(c, i))
			object[at++] = (struct causal_memory_object){
			    c->function[i].device, c->function[i].inode, (uint32_t)i, 0};
		object[at - 1].nr++;
		f[i] =
		    (struct causal_memory_function){c->function[i].address, c->function[i].size, 0};
	}
	return 0;
}

/* A file with a name, as processes that the command starts map it, too. */
static int make_memory(struct causal *c, struct err *e)
{
	const char *folder = secure_getenv("TMPDIR");
	int rc = make_image(c, e);

	if (rc)
		return rc;
	snprintf(c->path, sizeof(c->path), "%.4000s/cpuperf-causal.XXXXXX",
		 folder && *folder ? folder : "/tmp");
	c->memory = mkostemp(c->path, O_CLOEXEC);
	if (c->memory < 0) {
		rc = -errno;
		err_set_at(e, rc, c->path, 0, 0, "cannot be made: %s", strerror(-rc));
		err_hint(e, "TMPDIR names another folder");
		c->path[0] = '\0';
		return rc;
	}
	rc = io_pwrite_full(c->memory, c->image,
			    causal_memory_bytes(c->image->nr_objects, c->image->nr_functions), 0);
	return rc < 0 ? err_set_at(e, rc, c->path, 0, 0, "%s", strerror(-rc)) : 0;
}

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
	return versus_runner_set_variable(c->turns.runner, argv, CAUSAL_MEMORY_VARIABLE, c->path, e)
		   ?: versus_runner_set_variable(c->turns.runner, argv, "LD_PRELOAD", buf_str(&all),
						 e);
}

static int set_run(struct causal *c, uint32_t chosen, unsigned percent, struct err *e)
{
	struct causal_memory m = *c->image;
	int rc;

	m.chosen = chosen;
	m.percent = percent;
	rc = io_pwrite_full(c->memory, &m, sizeof(m), 0);
	return rc < 0 ? err_set_at(e, rc, c->path, 0, 0, "%s", strerror(-rc)) : 0;
}

/* What the program has written, which may be anything. */
static int read_run(const struct causal *c, struct causal_memory *m, struct err *e)
{
	const ssize_t nr = pread(c->memory, m, sizeof(*m), 0);

	if (nr != (ssize_t)sizeof(*m))
		return err_set_at(e, -EIO, c->path, 0, 0, "was truncated by the command");
	if (m->first_pid)
		return 0;
	err_set_at(e, -ENOTSUP, c->o->command_argv[0], 0, 0,
		   "libcpuperf-causal.so is not loaded into it");
	return e->code;
}

static int read_times(struct causal *c, struct err *e)
{
	const uint64_t at = causal_memory_functions_at(c->image->nr_objects);
	const size_t bytes = c->nr * sizeof(struct causal_memory_function);
	MEM_AUTO struct causal_memory_function *f = mem_zalloc(bytes);

	if (!f)
		return err_set(e, -ENOMEM, "out of memory");
	for (size_t done = 0; done < bytes;) {
		const ssize_t nr =
		    pread(c->memory, (char *)f + done, bytes - done, (off_t)(at + done));

		if (nr <= 0)
			return err_set_at(e, -EIO, c->path, 0, 0, "was truncated by the command");
		done += (size_t)nr;
	}
	for (size_t i = 0; i < c->nr; i++)
		c->function[i].ns = f[i].ns;
	return 0;
}

/* --- runs */

static uint32_t longest(const struct causal *c)
{
	uint32_t best = CAUSAL_MEMORY_NONE;

	for (size_t i = 0; i < c->nr; i++)
		if (c->function[i].ns &&
		    !ARRAY_ANY(x, c->chosen, c->nr_chosen, *x == (uint32_t)i) &&
		    (best == CAUSAL_MEMORY_NONE || c->function[i].ns > c->function[best].ns))
			best = (uint32_t)i;
	return best;
}

static void add_arms(struct causal *c, uint32_t number)
{
	struct causal_result *r = &c->result;
	const struct function *f = &c->function[number];

	elf_demangle(f->name, c->name[c->nr_chosen]);
	for (size_t k = 0; k < c->nr_percent; k++) {
		struct turns_arm *arm = &c->arm[c->turns.nr_arms++];

		*arm = c->arm[0];
		r->row[r->nr++] = (struct causal_row){.name = c->name[c->nr_chosen],
						      .linkage_name = f->name,
						      .object = f->path,
						      .percent = c->percent[k]};
	}
	c->chosen[c->nr_chosen++] = number;
}

static void add_run(struct causal *c, const struct causal_memory *m)
{
	c->sampled_ns += m->sampled_ns;
	c->queued_ns += m->queued_ns;
	if (c->sampled_ns)
		c->result.queued =
		    (double)c->queued_ns / ((double)c->queued_ns + (double)c->sampled_ns);
	if (m->nr_unsampled > c->result.nr_unsampled)
		c->result.nr_unsampled = m->nr_unsampled;
}

/* A run that decides which functions are tried. */
static int survey(struct turns *t, void *arg, struct err *e)
{
	struct causal *c = arg;
	struct causal_memory m;
	struct versus_run run;
	uint32_t next;
	int rc = set_run(c, CAUSAL_MEMORY_NONE, 0, e)
		     ?: versus_runner_run(t->runner, c->arm[0].argv, true, &run, e);

	if (rc || turns_caught())
		return rc;
	rc = read_run(c, &m, e) ?: read_times(c, e);
	if (rc)
		return rc;
	add_run(c, &m);
	for (size_t i = 0; i < c->nr; i++)
		c->result.nr_ran += c->function[i].ns > 0;
	while (c->nr_chosen < CAUSAL_MAX_FUNCTIONS && (next = longest(c)) != CAUSAL_MEMORY_NONE)
		add_arms(c, next);
	if (c->nr_chosen)
		return 0;
	err_set_at(e, -ENODATA, c->o->command_argv[0], 0, 0,
		   "of %.0f ms of CPU time nothing was in a function that is meant",
		   (double)m.sampled_ns / 1e6);
	err_hint(e, "name others: --causal='libfoo*:*', or make the command run for longer");
	return e->code;
}

static int begin_run(struct turns *t, size_t arm, void *arg, struct err *e)
{
	struct causal *c = arg;

	(void)t;
	return arm ? set_run(c, c->chosen[(arm - 1) / c->nr_percent],
			     c->percent[(arm - 1) % c->nr_percent], e)
		   : set_run(c, CAUSAL_MEMORY_NONE, 0, e);
}

/* What threads were slowed down is not the program's time. */
static int end_run(struct turns *t, size_t arm, struct versus_run *run, void *arg, struct err *e)
{
	struct causal *c = arg;
	struct causal_memory m;
	int rc = read_run(c, &m, e);

	(void)t;
	(void)arm;
	if (rc)
		return rc;
	add_run(c, &m);
	run->value[VERSUS_WALL] -= fmin((double)m.behind_ns / 1e9, run->value[VERSUS_WALL]);
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

static bool is_known(const struct causal_result *r)
{
	if (r->rule.nr_pairs)
		return r->nr_rounds >= r->rule.nr_pairs;
	return r->nr_rounds >= PAIRED_MIN &&
	       !ARRAY_ANY(x, r->row, r->nr, !(causal_half(&x->saved) <= causal_close(r)));
}

/* Parts of the wall time of a run of the same round. */
static int make_row(const struct turns *t, size_t i, double *saved, struct causal_result *r)
{
	for (size_t k = 0; k < t->nr_rounds; k++) {
		const struct versus_run *run = &t->run[k * t->nr_arms];
		const double base = run[0].value[VERSUS_WALL];

		saved[k] = base > 0 ? 1 - run[1 + i].value[VERSUS_WALL] / base : 0;
	}
	return paired_interval_of(saved, t->nr_rounds, 0, r->rule.nr_pairs,
				  CAUSAL_ERROR / (double)r->nr, &r->row[i].saved);
}

static int look(struct turns *t, void *arg)
{
	struct causal *c = arg;
	struct causal_result *r = &c->result;
	struct err ignored = {0};
	double wall = 0;
	MEM_AUTO double *saved = mem_calloc(t->nr_rounds ?: 1, sizeof(*saved));
	int rc = saved ? 0 : -ENOMEM;

	r->nr_rounds = t->nr_rounds;
	r->seconds = t->seconds;
	for (size_t k = 0; k < t->nr_rounds; k++)
		wall += t->run[k * t->nr_arms].value[VERSUS_WALL];
	r->wall = t->nr_rounds ? wall / (double)t->nr_rounds : 0;
	rc = rc ? rc : ARRAY_RUN(i, r->nr, make_row(t, i, saved, r));
	if (rc)
		return rc;
	if (read_times(c, &ignored) == 0 && c->sampled_ns)
		for (size_t i = 0; i < r->nr; i++) {
			const size_t at = i / c->nr_percent;
			const double ns = (double)c->function[c->chosen[at]].ns;

			r->row[i].on_cpu = fmin(ns / (double)c->sampled_ns, 1);
		}
	t->is_known = r->is_known = is_known(r);
	return 0;
}

static void put_status(const struct turns *t, const void *arg, struct buf *out)
{
	const struct causal_result *r = &((const struct causal *)arg)->result;
	double most = 0;

	for (size_t i = 0; i < r->nr; i++)
		most = fmax(most, causal_half(&r->row[i].saved));
	buf_printf(out, "%zu runs of %zu experiments in %.0f s", t->nr_rounds, t->nr_arms,
		   t->seconds);
	if (t->nr_rounds && isfinite(most))
		buf_printf(out, ": known within %.2g %%", 100 * most);
}

/* --- the whole */

/* Of a program that loads no agent the recorded run is all that there is. */
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
	c->machine.objects.command = o->command_argv[0];
	c->arm[0].argv = o->command_argv;
	c->arm[0].prepare = c->turns.prepare;
	snprintf(c->arm[0].name, sizeof(c->arm[0].name), "measured");
	c->turns.arm = c->arm;
	c->turns.nr_arms = 1;
	target_command_quote(o->command_argv, c->text, TEXT_BYTES);
	c->result.command = c->text;
	c->result.rule = c->turns.rule;
	rc = causal_kept_check(o, e);
	if (rc || !is_possible(c))
		return rc;
	return find_functions(c, e) ?: make_memory(c, e) ?: load_agent(c, e);
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
		rc = turns_run(t, &e);
	if (rc == -ENOTSUP) { /* as of a script that runs such a program */
		snprintf(c->why_none, sizeof(c->why_none), "%.200s: %.200s", e.source, e.msg);
		c->result.why_none = c->why_none;
		rc = 0;
	}
	c->result.is_cut = turns_caught();
	if (rc == 0 && (t->nr_rounds || !turns_caught()))
		status = causal_kept_print(&c->result, t);
	turns_clean_up(t);
	return rc ? fail(turns_status_of(&e), &e) : turns_status(status);
}

static void fini(struct causal *c)
{
	if (c->memory >= 0)
		close(c->memory);
	if (*c->path)
		(void)unlink(c->path);
	mem_free(c->function);
	mem_free(c->image);
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
	c->memory = -1;
	turns_catch_signals(&(struct turns){.runner = o->versus.runner});
	rc = target_command_find(o->command_argv[0]);
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
