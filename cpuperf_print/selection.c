/*
 * Parsing of the options that select samples, names and rows.
 */
#include "selection.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/str.h"
#include "options.h"
#include "report/flat.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 64, MAX_NAMES_BYTES = 256 };

static int parse_number(const char *option, const char *text, uint64_t max, uint64_t *out,
			struct err *e)
{
	uint64_t n;

	if (!text)
		return 0;
	if (str_parse_u64(text, &n) || n > max) {
		err_set(e, -EINVAL, "--%s=%s: not a number from 0 to %llu", option, text,
			(unsigned long long)max);
		return -EINVAL;
	}
	*out = n;
	return 0;
}

/* Digits and a dot, in any locale. */
static int parse_percent(const char *option, const char *text, double *out, struct err *e)
{
	locale_t c;
	char *end;
	double x;

	if (!text)
		return 0;
	c = newlocale(LC_ALL_MASK, "C", NULL);
	x = c ? strtod_l(text, &end, c) : NAN;
	if (c)
		freelocale(c);
	if (!(x >= 0 && x <= 1e6) || end == text || *end)
		return err_set(e, -EINVAL, "--%s=%s: not a percentage", option, text);
	*out = x;
	return 0;
}

static int parse_time(const char *option, const char *text, uint64_t *out, struct err *e)
{
	if (!text || str_parse_duration_ns(text, out) == 0)
		return 0;
	err_set(e, -EINVAL, "--%s=%s: not a time", option, text);
	err_hint(e, "since the session's start: 500ms, 2s, 1.5s, 3m");
	return -EINVAL;
}

static int parse_ranges(const char *option, const char *text, struct profile_ranges *out,
			struct err *e)
{
	return text ? profile_ranges_parse(out, option, text, e) : 0;
}

static int add_globs(struct profile_globs *to, const char *option, const struct opt_strings *list,
		     struct err *e)
{
	return ARRAY_RUN(i, list->nr, profile_globs_add(to, option, list->item[i], e));
}

static int check_span(const struct profile_filter *f, const struct options *o, struct err *e)
{
	if (!o->from || !o->to || f->from_ns < f->to_ns)
		return 0;
	return err_set(e, -EINVAL, "--from=%s is not before --to=%s", o->from, o->to);
}

static int parse_filter(struct profile_filter *f, const struct options *o, struct err *e)
{
	return add_globs(&f->events, "--event", &o->events, e) ?:
	       add_globs(&f->comms, "--comm", &o->comms, e) ?:
	       add_globs(&f->regions, "--region", &o->regions, e) ?:
	       add_globs(&f->cmdlines, "--cmdline", &o->cmdlines, e) ?:
	       parse_ranges("--pid", o->pids, &f->pids, e) ?:
	       parse_ranges("--tid", o->tids, &f->tids, e) ?:
	       parse_ranges("--tree-of", o->trees, &f->trees, e) ?:
	       parse_ranges("--cpu", o->cpus, &f->cpus, e) ?:
	       parse_ranges("--iteration", o->iterations, &f->iterations, e) ?:
	       parse_time("from", o->from, &f->from_ns, e) ?:
	       parse_time("to", o->to, &f->to_ns, e) ?:
	       check_span(f, o, e);
}

typedef int add_rule_fn(struct report_rules *r, const char *text, struct err *e);

static int add_rules(struct report_rules *r, const struct opt_strings *list, add_rule_fn *add,
		     struct err *e)
{
	return ARRAY_RUN(i, list->nr, add(r, list->item[i], e));
}

static int parse_rules(struct report_rules *r, const struct options *o, struct err *e)
{
	r->merge_object = o->merge_object;
	return add_rules(r, &o->merge, report_rules_add_merge, e) ?:
	       add_rules(r, &o->split, report_rules_add_split, e) ?:
	       add_rules(r, &o->hide, report_rules_add_hide, e) ?:
	       add_rules(r, &o->only, report_rules_add_only, e);
}

static int parse_limits(struct selection *s, const struct options *o, struct err *e)
{
	uint64_t depth = UINT32_MAX, nr_threads = 0;
	int rc = parse_number("top", o->top, UINT32_MAX, &s->top, e) ?:
		 parse_number("rows", o->rows, UINT16_MAX, &s->rows, e) ?:
		 parse_number("max-depth", o->max_depth, UINT32_MAX, &depth, e) ?:
		 parse_number("threads", o->threads, MAX_THREADS, &nr_threads, e) ?:
		 parse_percent("min-percent", o->min_percent, &s->min_percent, e) ?:
		 parse_percent("fail-over", o->fail_over, &s->fail_over, e);

	s->max_depth = (uint32_t)depth;
	s->nr_threads = (unsigned)nr_threads;
	return rc;
}

/* "region:NAME", but not "region::name" of C++. What follows it, or text. */
static const char *skip_region(const char *text)
{
	static const char region[] = "region:";
	const size_t len = sizeof(region) - 1;

	return strncmp(text, region, len) == 0 && text[len] != ':' ? text + len : text;
}

/* Names in C++ have colons, too: the last one is meant. */
static int parse_speedup(struct selection *s, const char *text, struct err *e)
{
	struct selection_speedup *to = &s->speedup[s->nr_speedups];
	const char *colon = strrchr(text, ':'), *number = colon ? colon + 1 : text;
	size_t len = strlen(number);
	struct err ignored = {0};
	char percent[32];
	double x = 0;

	if (s->nr_speedups == SELECTION_MAX_SPEEDUPS)
		return err_set(e, -E2BIG, "--speedup: more than %d", SELECTION_MAX_SPEEDUPS);
	len -= len && number[len - 1] == '%';
	snprintf(percent, sizeof(percent), "%.*s", (int)len, number);
	if (len >= sizeof(percent) || colon == text ||
	    parse_percent("speedup", percent, &x, &ignored) || x > 100 || x <= 0) {
		err_set(e, -EINVAL, "--speedup=%s: not FUNCTION:PERCENT", text);
		err_hint(e, "by how much less time it takes, at most 100 %%: --speedup=parse:50%%; "
			    "a region: --speedup=region:NAME:50%%");
		return -EINVAL;
	}
	if (colon) {
		const char *name = skip_region(text) < colon ? skip_region(text) : text;

		to->is_region = name != text;
		to->glob = mem_strdup(name);
		if (!to->glob)
			return err_set(e, -ENOMEM, "out of memory");
		to->glob[colon - name] = '\0';
	}
	to->share = x / 100;
	s->nr_speedups++;
	return 0;
}

static int find_column(const char *name, size_t len, struct err *e)
{
	for (int c = 0; c < REPORT_NR_COLUMNS; c++)
		if (strlen(report_column_names[c]) == len &&
		    strncmp(report_column_names[c], name, len) == 0)
			return c;
	err_set(e, -EINVAL, "--sort: no column \"%.*s\"", (int)len, name);
	err_hint(e,
		 "function, object, comm, cmdline, pid, tid, thread, cpu, line, iteration, state, "
		 "reason, region, event, session, host, rank; total orders the rows by total");
	return -EINVAL;
}

/* total is no column: it orders the rows. */
static int parse_columns(const char *list, struct selection *s, struct err *e)
{
	unsigned columns = 0;

	if (!list)
		return 0;
	for (const char *p = list;;) {
		size_t len = strcspn(p, ",");
		bool is_total = len == 5 && memcmp(p, "total", len) == 0;
		int c = is_total ? 0 : find_column(p, len, e);

		if (c < 0)
			return c;
		s->by_total |= is_total;
		columns |= is_total ? 0 : 1u << c;
		if (!p[len])
			break;
		p += len + 1;
	}
	s->columns = columns;
	return 0;
}

static const struct opt_choice roots[REPORT_NR_ROOTS] = {
    [REPORT_ROOT_PROCESS] = {"process", "its process: name and pid"},
    [REPORT_ROOT_THREAD] = {"thread", "its thread: name, pid, tid and # with its number"},
    [REPORT_ROOT_COMM] = {"comm", "its name"},
    [REPORT_ROOT_CMDLINE] = {"cmdline", "the command line of its process"},
    [REPORT_ROOT_HOST] = {"host", "the host on which it ran"},
    [REPORT_ROOT_RANK] = {"rank", "its rank in a parallel program"},
    [REPORT_ROOT_STATE] = {"state",
			   "on CPU, waiting for a CPU or blocked, in one tree of wall time"},
    [REPORT_ROOT_REGION] = {"region", "the regions that it had marked (cpuperf/mark.h)"},
};

bool selection_root_choice(size_t i, struct opt_choice *out)
{
	if (i >= REPORT_NR_ROOTS - REPORT_NO_ROOT - 1)
		return false;
	*out = roots[REPORT_NO_ROOT + 1 + i];
	return true;
}

static int parse_root(const char *text, enum report_root *out, struct err *e)
{
	BUF_AUTO(names, MAX_NAMES_BYTES);

	for (int i = REPORT_NO_ROOT + 1; text && i < REPORT_NR_ROOTS; i++) {
		buf_printf(&names, "%s%s", names.len ? ", " : "", roots[i].name);
		if (strcmp(text, roots[i].name) == 0) {
			*out = (enum report_root)i;
			return 0;
		}
	}
	return text ? err_set(e, -EINVAL, "--group-by=%s: not one of %s", text, buf_str(&names))
		    : 0;
}

static const struct opt_choice idle[] = {
    {"fold", "one line with their number, their time and where they wait; the default"},
    {"show", "rows like other waits"},
};

bool selection_idle_choice(size_t i, struct opt_choice *out)
{
	if (i >= ARRAY_NR(idle))
		return false;
	*out = idle[i];
	return true;
}

static int parse_idle(struct selection *s, const struct options *o, struct err *e)
{
	const char *rules = o->idle_rules ?: secure_getenv("CPUPERF_IDLE_RULES");

	if (o->idle && !ARRAY_ANY(x, idle, ARRAY_NR(idle), strcmp(x->name, o->idle) == 0))
		return err_set(e, -EINVAL, "--idle=%s: not one of fold, show", o->idle);
	s->shows_idle = o->idle && strcmp(o->idle, "show") == 0;
	return rules && *rules ? report_idle_rules_load(&s->idle_rules, rules, e) : 0;
}

int selection_init(struct selection *s, const struct options *o, struct err *e)
{
	int rc;

	*s = (struct selection){
	    .top = UINT64_MAX,
	    .min_percent = -1,
	    .fail_over = -1,
	    .by_session = o->by_session,
	    .by_host = o->by_host,
	    .each_iteration = o->each_iteration,
	    .by_count = o->counts,
	    .within = o->within,
	    .has_no_totals = o->no_totals,
	    .with_inlined = o->inlined,
	    .with_native = o->native,
	    .with_wakers = o->wakers,
	    .with_lines = o->lines,
	    .without_marks = o->subtract_marks,
	};
	rc = parse_filter(&s->filter, o, e) ?:
	       add_globs(&s->hosts, "--host", &o->hosts, e) ?:
	       parse_ranges("--rank", o->ranks, &s->ranks, e) ?:
	       parse_rules(&s->rules, o, e) ?:
	       parse_idle(s, o, e) ?:
	       parse_limits(s, o, e) ?:
	       parse_columns(o->sort, s, e) ?:
	       ARRAY_RUN(i, o->speedups.nr, parse_speedup(s, o->speedups.item[i], e)) ?:
	       parse_root(o->group_by, &s->root, e);
	if (s->root == REPORT_ROOT_STATE || s->columns & (1 << REPORT_STATE | 1 << REPORT_REASON))
		s->sum = REPORT_SUM_STATES;
	return rc;
}

void selection_fini(struct selection *s)
{
	for (size_t i = 0; i < s->nr_speedups; i++)
		mem_free(s->speedup[i].glob);
	report_rules_fini(&s->rules);
	report_idle_rules_fini(&s->idle_rules);
}
