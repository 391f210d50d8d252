#include "report/region_amounts.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/order.h"
#include "report/functions.h"

#include <errno.h>
#include <math.h>

enum { TEXT_BYTES = 64 << 10, MAX_NAME_BYTES = 1 << 20 };
/* Of an event that counts, behind the events that sample; and last, likewise, of the wall time of
 * calls that were not cut. */
enum { COUNT_SUM, COUNT_CALLS, NR_OF_COUNT };

struct path {
	uint32_t text;  /* key */
	uint32_t outer; /* the path around it, or DICT_NONE */
	double number[];
};

/* The state while one session is read. */
struct reading {
	struct report_region_amounts *a;
	const struct profile_processes *p;
	uint32_t *of_region; /* owned; the number of its path + 1; 0: not looked for */
	const struct report_region_times *times;
	size_t first, nr;
};

void report_region_amounts_init(struct report_region_amounts *a, struct report_functions *functions,
				size_t nr_replicates, size_t nr_events, size_t nr_counts)
{
	size_t bytes;

	*a = (struct report_region_amounts){.functions = functions,
					    .nr_replicates = nr_replicates,
					    .nr_numbers = REPORT_REGION_NR_OWN + nr_events +
							  (nr_counts + 1) * NR_OF_COUNT};
	dict_init_texts(&a->names, sizeof(const char *), (uint32_t)nr_counts, MAX_NAME_BYTES);
	bytes = sizeof(struct path) + a->nr_replicates * a->nr_numbers * sizeof(double);
	dict_init(&a->paths, bytes, DICT_KEY(struct path, text),
		  REPORT_REGION_AMOUNTS_MAX_BYTES / bytes);
}

void report_region_amounts_fini(struct report_region_amounts *a)
{
	dict_fini(&a->paths);
	dict_fini(&a->names);
}

static double *number_of(const struct report_region_amounts *a, uint32_t path, size_t replicate,
			 size_t number)
{
	struct path *p = dict_at(&a->paths, path);

	return &p->number[replicate * a->nr_numbers + number];
}

/* The first number of an event that counts; name names.max: of the wall time. */
static size_t count_number(const struct report_region_amounts *a, uint32_t name)
{
	return a->nr_numbers - (a->names.max + 1 - name) * NR_OF_COUNT;
}

static void add_count(struct report_region_amounts *a, uint32_t path, size_t replicate,
		      uint32_t name, uint64_t value)
{
	double *number = number_of(a, path, replicate, count_number(a, name));

	number[COUNT_SUM] += (double)value;
	number[COUNT_CALLS] += 1;
}

static int add_counts(struct report_region_amounts *a, uint32_t path, size_t replicate,
		      const struct profile_region_event *e)
{
	for (size_t i = 0; i < e->nr_counts; i++) {
		uint32_t name = dict_add(&a->names, e->counts[i].name);

		if (name == DICT_NONE && a->names.nr < a->names.max)
			return -ENOMEM;
		if (name != DICT_NONE)
			add_count(a, path, replicate, name, e->counts[i].value);
	}
	return 0;
}

/* 0, -ENOMEM or -EFBIG. */
static int add_path(struct reading *r, uint32_t region, uint32_t outer)
{
	struct report_region_amounts *a = r->a;
	BUF_AUTO(text, TEXT_BYTES);
	uint32_t key, number;

	profile_region_text(r->p, region, &text);
	if (buf_error(&text))
		return buf_error(&text);
	key = report_functions_text_number(a->functions, buf_str(&text));
	if (key == UINT32_MAX)
		return -ENOMEM;
	number = dict_add(&a->paths, &key);
	if (number == DICT_NONE)
		return a->paths.nr == a->paths.max ? -EFBIG : -ENOMEM;
	((struct path *)dict_at(&a->paths, number))->outer = outer;
	r->of_region[region] = number + 1;
	return 0;
}

/* The path of a region and those around it, the outermost first. */
static int find_path(struct reading *r, uint32_t region, uint32_t *out)
{
	uint32_t inwards[PROFILE_MAX_REGION_DEPTH + 1];
	size_t nr = 0;
	int rc = 0;

	for (uint32_t i = region;
	     i != PROFILE_NO_REGION && !r->of_region[i] && nr <= PROFILE_MAX_REGION_DEPTH;
	     i = profile_region(r->p, i)->parent)
		inwards[nr++] = i;
	while (nr-- && rc == 0) {
		uint32_t parent = profile_region(r->p, inwards[nr])->parent;

		rc = add_path(r, inwards[nr],
			      parent == PROFILE_NO_REGION ? DICT_NONE : r->of_region[parent] - 1);
	}
	*out = r->of_region[region] - 1;
	return rc;
}

/* 0: before the first replicate; else its index, from first on, + 1. */
static size_t replicate_at(const struct reading *r, uint64_t time_ns)
{
	return r->times ? ORDER_FIRST(i, r->nr, r->times[i].start_ns > time_ns) : 1;
}

static int add_call(void *arg, const struct profile_region_event *e)
{
	struct reading *r = arg;
	uint64_t ns = e->time_ns - e->begin_ns;
	size_t at, replicate;
	uint32_t path;
	int rc;

	if (e->kind != PROFILE_REGION_END)
		return 0;
	at = replicate_at(r, e->time_ns);
	if (!at)
		return 0;
	replicate = r->first + at - 1;
	rc = find_path(r, e->region, &path);
	if (rc)
		return rc;
	if (!e->earlier_ns || replicate_at(r, e->earlier_ns) != at)
		*number_of(r->a, path, replicate, REPORT_REGION_CALLS) += 1;
	if (!e->is_cut)
		add_count(r->a, path, replicate, r->a->names.max, ns);
	*number_of(r->a, path, replicate, REPORT_REGION_WALL) += (double)ns;
	*number_of(r->a, path, replicate, REPORT_REGION_SELF) +=
	    ns > e->inner_ns ? (double)(ns - e->inner_ns) : 0;
	return add_counts(r->a, path, replicate, e);
}

int report_region_amounts_read(struct report_region_amounts *a, const struct profile_processes *p,
			       const struct profile_filter *filter, uint64_t start_ns, size_t first,
			       const struct report_region_times *times, size_t nr)
{
	MEM_AUTO uint32_t *of_region = mem_calloc(profile_nr_regions(p) + 1, sizeof(*of_region));
	struct reading r = {
	    .a = a, .p = p, .of_region = of_region, .times = times, .first = first, .nr = nr};

	return of_region ? profile_region_calls(p, filter, start_ns, add_call, &r) : -ENOMEM;
}

void report_region_amounts_add(struct report_region_amounts *a, uint32_t text, size_t replicate,
			       size_t event, double weight)
{
	for (uint32_t i = dict_find(&a->paths, &text); i != DICT_NONE;
	     i = ((struct path *)dict_at(&a->paths, i))->outer)
		*number_of(a, i, replicate, REPORT_REGION_NR_OWN + event) += weight;
}

uint32_t report_region_amounts_text(const struct report_region_amounts *a, uint32_t path)
{
	return ((const struct path *)dict_at(&a->paths, path))->text;
}

double report_region_amounts_at(const struct report_region_amounts *a, uint32_t path,
				size_t replicate, size_t number)
{
	return *number_of(a, path, replicate, number);
}

double report_region_amounts_count(const struct report_region_amounts *a, uint32_t path,
				   size_t replicate, uint32_t name)
{
	const double *number = number_of(a, path, replicate, count_number(a, name));

	return number[COUNT_CALLS] > 0 ? number[COUNT_SUM] / number[COUNT_CALLS] : NAN;
}

double report_region_amounts_mean_ns(const struct report_region_amounts *a, uint32_t path,
				     size_t replicate)
{
	return report_region_amounts_count(a, path, replicate, a->names.max);
}
