/*
 * A noisy neighbour: another process computes on the CPU of the one that answers requests, and the
 * kernel divides it between both.
 *
 * Symptom: the same work takes twice the time, though the program's own CPU time is as ever.
 * Command: cpuperf --spec-file=wall -- ./noisy_neighbour
 *          cpuperf_print --report=tree --group-by=state
 * What to see: serve_requests waits for a CPU as long as it runs; compact_logs, of the process
 *          neighbour, has that CPU.
 * Repair: let the neighbour have only what is left over ("fixed").
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NR_STEPS = 100000000 };

static volatile unsigned result;

static __attribute__((noinline)) void compact_logs(void)
{
	for (;;)
		result = result * 3 + 1;
}

static __attribute__((noinline)) void serve_requests(void)
{
	for (int i = 0; i < NR_STEPS; i++)
		result = result * 5 + 1;
}

/* Both on the first CPU that this process may use. */
static void use_one_cpu(void)
{
	cpu_set_t all, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(all), &all);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

int main(int argc, char **argv)
{
	const int is_fixed = argc > 1 && strcmp(argv[1], "fixed") == 0;
	pid_t neighbour;

	use_one_cpu();
	neighbour = fork();
	if (neighbour == 0) {
		prctl(PR_SET_NAME, "neighbour");
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (is_fixed)
			sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){0});
		compact_logs();
	}
	serve_requests();
	kill(neighbour, SIGKILL);
	waitpid(neighbour, NULL, 0);
	printf("requests are served\n");
	return 0;
}
