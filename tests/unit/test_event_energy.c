/*
 * The energy rows: each name is found once on every machine, published or absent.
 */
#include "kit.h"

#include "base/arena.h"
#include "event/catalogue.h"
#include "host/host.h"

static const char *const names[] = {"energy_cores", "energy_gpu", "energy_pkg", "energy_psys",
				    "energy_ram"};

static const struct {
	const char *tree;
	size_t nr_published;
} machines[] = {{"x86-vm", 0}, {"arm64-big-little", 0}, {"intel-uncore", 2}};

struct machine {
	struct host host;
	struct arena arena;
	struct catalogue c;
};

static void open_machine(struct machine *m, const char *tree)
{
	struct root root = tree_captured(tree);
	struct err e = {0};

	memset(m, 0, sizeof(*m));
	assert_int_equal(host_load(&root, &m->host, &e), 0);
	arena_init(&m->arena, 1 << 20);
	m->c = (struct catalogue){.host = &m->host, .arena = &m->arena};
}

static void close_machine(struct machine *m)
{
	arena_fini(&m->arena);
	host_fini(&m->host);
}

static int count_row(const struct event_row *row, void *arg)
{
	assert_non_null(row->missing);
	++*(size_t *)arg;
	return 0;
}

static int stop(const struct event_row *row, void *arg)
{
	(void)row, (void)arg;
	return -ENOENT;
}

static size_t count_published(struct machine *m)
{
	size_t nr = 0;

	for (size_t i = 0; i < NR(names); i++) {
		const struct event_row *row = NULL;
		bool is_absent = event_energy_maker.find(&m->c, names[i], &row, NULL) == 0;

		assert_int_equal(is_absent, row != NULL);
		assert_int_equal(event_uncore_maker.find(&m->c, names[i], &row, NULL),
				 is_absent ? -ENOENT : 0);
		nr += !is_absent;
	}
	return nr;
}

TEST(machines)
{
	for (size_t i = 0; i < NR(machines); i++) {
		const struct event_row *row = NULL;
		struct machine m;
		size_t nr = 0;

		print_message("%s\n", machines[i].tree);
		open_machine(&m, machines[i].tree);
		assert_int_equal(count_published(&m), machines[i].nr_published);
		assert_int_equal(event_energy_maker.each(&m.c, count_row, &nr), 0);
		assert_int_equal(nr, NR(names) - machines[i].nr_published);
		assert_int_equal(event_energy_maker.each(&m.c, stop, NULL), -ENOENT);
		assert_int_equal(event_energy_maker.find(&m.c, "energy", &row, NULL), -ENOENT);
		assert_null(row);
		close_machine(&m);
	}
}
