#include "kit.h"

#include "spec/spec.h"

#include <stdlib.h>
#include <sys/resource.h>

/* Whatever the user has: as many open files as may be, and no folder of PATH that is closed to him,
 * where a program that does not exist is one that may not be executed. */
static void use_own_surroundings(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &files);
	}
	(void)setenv("PATH", "/usr/local/bin:/usr/bin:/bin", 1);
}

int main(int nr, char **args)
{
	use_own_surroundings();
	spec_use_own_heap(); /* tests make allocations fail */
	(void)nr;
	return kit_run(args[0]);
}
