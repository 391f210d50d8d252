/*
 * Epochs of a process: as long as the number is the same, every address means the same; against
 * scenes of mappings over mappings, forks and execs.
 */
#include "kit.h"
#include "test_processes.h"

#include "profile/processes.h"

enum { NR_ADDRESSES = 8, PAGE = 0x1000, NR_STEPS = 300, END_NS = 2000 };

static const struct step scene[] = {
    {.op = EXEC, .time_ns = 10, .pid = 7, .tid = 7, .text = "a"},
    {.op = MAP,
     .time_ns = 20,
     .pid = 7,
     .tid = 7,
     .start = 0x1000,
     .end = 0x5000,
     .text = "/a",
     .build_id = 1},
    {.op = MAP,
     .time_ns = 30,
     .pid = 7,
     .tid = 7,
     .start = 0x2000,
     .end = 0x3000,
     .text = "/b",
     .build_id = 2},
    {.op = FORK, .time_ns = 35, .pid = 8, .tid = 8, .ppid = 7, .ptid = 7},
    {.op = MAP,
     .time_ns = 40,
     .pid = 7,
     .tid = 7,
     .start = 0x2000,
     .end = 0x3000,
     .text = "/c",
     .build_id = 3},
    {.op = MAP,
     .time_ns = 40,
     .pid = 7,
     .tid = 7,
     .start = 0x8000,
     .end = 0x9000,
     .text = "/d",
     .build_id = 4},
    {.op = EXEC, .time_ns = 50, .pid = 8, .tid = 8, .text = "b"},
    {.op = MAP,
     .time_ns = 51,
     .pid = 8,
     .tid = 8,
     .start = 0x1000,
     .end = 0x5000,
     .text = "/e",
     .build_id = 5},
};

static uint32_t epoch_of(struct profile_lookup *l, uint32_t pid, uint64_t time_ns)
{
	struct profile_task task;

	profile_lookup_task(l, pid, pid, time_ns, &task);
	return profile_lookup_epoch(l, task.process, time_ns);
}

TEST(counts)
{
	struct profile_processes *p = steps_read(scene, NR(scene));
	struct profile_lookup *l = profile_lookup_new(p);

	assert_int_equal(epoch_of(l, 7, 19), 0);
	assert_int_equal(epoch_of(l, 7, 20), 1);
	assert_int_equal(epoch_of(l, 7, 29), 1);
	assert_int_equal(epoch_of(l, 7, 30), 2);
	assert_int_equal(epoch_of(l, 7, 39), 2);
	assert_int_equal(epoch_of(l, 7, 40), 4);
	assert_int_equal(epoch_of(l, 7, UINT64_MAX), 4);
	/* what its parent maps is not the child's any more */
	assert_int_equal(epoch_of(l, 8, 35), epoch_of(l, 8, 49));
	assert_int_equal(epoch_of(l, 8, 52), 1);
	assert_int_equal(epoch_of(l, 99, 40), 0); /* nothing is known of it */
	profile_lookup_free(l);
	profile_processes_free(p);
}

static uint32_t next(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((*random >> 33) % below);
}

static void random_steps(struct step *s, uint64_t *random)
{
	static const char *const paths[] = {"/a", "/b", "/c", "/d"};
	static const enum op ops[] = {MAP, MAP, MAP, MAP, MAP, FORK, EXEC, EXIT};

	for (size_t i = 0; i < NR_STEPS; i++) {
		uint32_t path = next(random, 4), start = next(random, NR_ADDRESSES);

		s[i] = (struct step){.op = ops[next(random, 8)],
				     .time_ns = next(random, END_NS),
				     .pid = 7 + next(random, 3),
				     .ppid = 7 + next(random, 3),
				     .start = PAGE * (1 + start),
				     .end = PAGE * (2 + start + next(random, 4)),
				     .offset = PAGE * next(random, 2),
				     .text = paths[path],
				     .build_id = (uint8_t)(1 + path)};
		s[i].tid = s[i].pid;
		s[i].ptid = s[i].ppid;
	}
}

/* The whole promise: two times of one process and epoch agree in every address. */
TEST(same_epoch_same_mappings)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		static struct step s[NR_STEPS];
		struct profile_processes *p;
		struct profile_lookup *l;
		uint64_t random = seed;

		random_steps(s, &random);
		p = steps_read(s, NR_STEPS);
		l = profile_lookup_new(p);
		for (uint32_t pid = 7; pid < 10; pid++) {
			const struct profile_mapping *was[NR_ADDRESSES + 8] = {NULL};
			const struct profile_process *process = NULL;
			uint32_t epoch = 0;

			for (uint64_t t = 0; t < END_NS + 5; t++) {
				struct profile_task task;
				uint32_t now;
				bool is_same;

				profile_lookup_task(l, pid, pid, t, &task);
				now = profile_lookup_epoch(l, task.process, t);
				is_same = process == task.process && epoch == now;
				assert_true(process != task.process || now >= epoch);
				for (uint64_t a = 0; a < NR_ADDRESSES + 8; a++) {
					const struct profile_mapping *m = profile_lookup_mapping(
					    l, task.process, PAGE * a + 5, t);

					if (is_same)
						assert_ptr_equal(m, was[a]);
					was[a] = m;
				}
				process = task.process;
				epoch = now;
			}
		}
		profile_lookup_free(l);
		profile_processes_free(p);
	}
}
