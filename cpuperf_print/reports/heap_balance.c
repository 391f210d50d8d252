/*
 * What the memory of the processes grew by beside the heap: a leak that malloc does not see.
 */
#include "base/buf.h"
#include "memory_maps.h"
#include "numbers.h"
#include "reports/reports.h"
#include "trace/trace.h"

enum { LINE_BYTES = 512 };
enum { LEAST_BYTES = 1 << 20 }; /* of a kind that is listed, and of what is remarkable */

/* Indexed by kind; those without a name are "other". */
static const char *const kind_names[MAPPING_NR_KINDS + 1] = {[MAPPING_HEAP] = "heap of brk",
							     [MAPPING_STACK] = "stacks",
							     [MAPPING_ANONYMOUS] =
								 "anonymous mappings",
							     [MAPPING_SHARED] = "shared memory",
							     [MAPPING_TEXT] = "code",
							     [MAPPING_DATA] = "data of files",
							     [MAPPING_FILE] = "files"};

static double grown_by(const struct memory_at at[MEMORY_NR_MOMENTS])
{
	return (double)at[MEMORY_END].sums.resident - (double)at[MEMORY_BEGIN].sums.resident;
}

static void put_signed(struct buf *b, double bytes)
{
	buf_printf(b, "%s%s", bytes < 0 ? "-" : "+", HUMAN(bytes < 0 ? -bytes : bytes, "B"));
}

static void add_kinds(const double grown[MAPPING_NR_KINDS + 1], struct buf *b)
{
	const char *separator = ": ";

	for (int i = 0; i <= MAPPING_NR_KINDS; i++) {
		if (grown[i] < LEAST_BYTES && grown[i] > -LEAST_BYTES)
			continue;
		buf_printf(b, "%s%s ", separator, kind_names[i] ? kind_names[i] : "other");
		put_signed(b, grown[i]);
		separator = ", ";
	}
}

/* live: what is compared, or a negative share. */
static void put_balance(struct job *j, const struct memory_maps *maps, const struct interval *live)
{
	double grown[MAPPING_NR_KINDS + 1] = {0}, beside;
	BUF_AUTO(b, LINE_BYTES);

	for (uint32_t i = 0; i < maps->rows.nr; i++) {
		const struct memory_maps_row *row = dict_at(&maps->rows, i);

		grown[row->kind] += grown_by(row->at);
	}
	beside = grown[MAPPING_HEAP] + grown[MAPPING_ANONYMOUS] - live->share;
	if (grown_by(maps->all) < LEAST_BYTES && grown_by(maps->all) > -LEAST_BYTES)
		return;
	buf_adds(&b, "resident memory ");
	put_signed(&b, grown_by(maps->all));
	buf_printf(&b, " to %s", HUMAN((double)maps->all[MEMORY_END].sums.resident, "B"));
	add_kinds(grown, &b);
	if (live->share >= 0 && beside - (live->high - live->share) >= LEAST_BYTES)
		buf_printf(&b,
			   "; %s of it is not live in malloc: its overhead, mapped beside it, %sor "
			   "freed and kept",
			   HUMAN(beside, "B"),
			   maps->flags & TRACE_TARGET_IS_ATTACHED ? "from before, " : "");
	reports_headline(j, &b);
}

void reports_heap_balance(struct job *j, const struct interval *live, const struct interval *peak)
{
	static const struct interval none = {.share = -1};
	const struct interval *most = peak->share > live->share ? peak : live;
	struct memory_maps maps;

	if (j->output->form != GRID_PEOPLE || j->nr != 1 || !job_input(j)->session ||
	    job_is_tight(j))
		return;
	memory_maps_init(&maps);
	if (memory_maps_read(&maps, job_input(j)->session,
			     &job_filter(j, job_input(j))->iterations) == 0 &&
	    maps.has_map)
		/* the last map of a command that ended is of before it freed what it had */
		put_balance(j, &maps,
			    maps.flags & TRACE_TARGET_HAS_ENDED && peak->share < 0 ? &none : most);
	memory_maps_fini(&maps);
}
