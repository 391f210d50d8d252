/*
 * What test_regions_counts.py measures: regions with a known number of page faults. In each of
 * CALLS regions "outer": 3 pages, and two regions "inner" of 16 pages each.
 *
 * usage: regions_counts CALLS [fork | close]: after half of the calls, a child marks a region, too,
 * or all descriptors are closed
 */
#include <cpuperf/mark.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void touch(char *at, int nr)
{
	for (int i = 0; i < nr; i++)
		at[i * 4096] = 1;
}

static void make_child(void)
{
	if (fork() == 0) {
		CPUPERF_BEGIN("child");
		CPUPERF_END;
		_exit(0);
	}
	wait(NULL);
}

int main(int argc, char **argv)
{
	int nr = argc > 1 ? atoi(argv[1]) : 1;

	for (int i = 0; i < nr; i++) {
		char *at = mmap(NULL, 64 * 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (argc > 2 && i == nr / 2) {
			if (argv[2][0] == 'f')
				make_child();
			else
				for (int fd = 3; fd < 2000; fd++)
					close(fd);
		}
		madvise(at, 64 * 4096, MADV_NOHUGEPAGE);
		CPUPERF_BEGIN("outer");
		touch(at, 3);
		for (int k = 0; k < 2; k++) {
			CPUPERF_BEGIN("inner");
			touch(at + (3 + 16 * k) * 4096, 16);
			CPUPERF_END;
		}
		CPUPERF_END;
		munmap(at, 64 * 4096);
	}
	return 0;
}
