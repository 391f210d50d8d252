/*
 * The tables of the kernel's generic events against an independent source: libpfm4's own "perf"
 * and "perf_events software" tables, by the kernel's names.
 */
#include "kit.h"

#include "event/event.h"

#include <linux/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

/* 1 if libpfm4 knows the row's source and agrees, 0 if it does not know it. */
static int agrees(const struct event_row *row)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};

	if (pfm_get_os_event_encoding(row->source, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT, &arg) !=
	    PFM_SUCCESS)
		return 0;
	print_message("%s: type %u, config 0x%llx\n", row->source, attr.type,
		      (unsigned long long)attr.config);
	assert_int_equal(row->perf_type, attr.type);
	assert_true(row->perf_config == attr.config);
	return 1;
}

static void check_group(const struct event_group *g, int at_least)
{
	int nr = 0;

	for (size_t i = 0; i < g->nr_rows; i++)
		nr += agrees(&g->rows[i]);
	assert_true(nr >= at_least);
}

TEST(generic_events)
{
	assert_int_equal(pfm_initialize(), PFM_SUCCESS);
	check_group(&event_fixed_group, 4);
	check_group(&event_arch_group, 9);
	check_group(&event_software_group, 8);
}
