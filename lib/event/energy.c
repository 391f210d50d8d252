/*
 * Placeholder rows of misc's energy events, for machines whose PMU "power" does not publish them.
 * They are listed with the reason, so that a spec that asks for energy is valid on every machine.
 * uncore.c makes the published ones.
 */
#include "event/catalogue.h"

#include <errno.h>
#include <strings.h>

#define ENERGY(name_, event, text)                                                                 \
	{                                                                                          \
		.name = name_, .kind = EVENT_COUNT, .scope = EVENT_SCOPE_PACKAGE, .unit = "J",     \
		.source = "power/" event "/", .description = text,                                 \
		.missing = "needs the kernel's PMU power to provide " event                        \
			   " (Intel from Sandy Bridge, AMD from Zen, few virtual machines)"        \
	}

static const struct event_row rows[] = {
    ENERGY("energy_cores", "energy-cores", "Energy that the cores of the package used."),
    ENERGY("energy_gpu", "energy-gpu", "Energy that the graphics engine used."),
    ENERGY("energy_pkg", "energy-pkg", "Energy that the package used."),
    ENERGY("energy_psys", "energy-psys", "Energy that the whole platform used."),
    ENERGY("energy_ram", "energy-ram", "Energy that the memory of the package used."),
};

enum { NR_ROWS = sizeof(rows) / sizeof(rows[0]) };

/* 0 if this machine does not publish the event, -ENOENT if it does. */
static int check_absent(const struct catalogue *c, const char *name)
{
	const struct event_row *row;
	int rc = event_uncore_maker.find(c, name, &row, NULL);

	return rc == -ENOENT ? 0 : rc ? rc : -ENOENT;
}

static int find_row(const struct catalogue *c, const char *name, const struct event_row **out,
		    struct err *e)
{
	(void)e;
	for (size_t i = 0; i < NR_ROWS; i++) {
		int rc = strcasecmp(rows[i].name, name) ? -ENOENT : check_absent(c, name);

		if (rc == 0)
			*out = &rows[i];
		if (rc != -ENOENT)
			return rc;
	}
	return -ENOENT;
}

static int each_row(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		    void *arg)
{
	int rc = 0;

	for (size_t i = 0; i < NR_ROWS && rc == 0; i++) {
		int absent = check_absent(c, rows[i].name);

		if (absent == 0)
			rc = fn(&rows[i], arg);
		else if (absent != -ENOENT)
			rc = absent;
	}
	return rc;
}

const struct event_maker event_energy_maker = {.find = find_row, .each = each_row};
