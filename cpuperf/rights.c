/*
 * What this user may measure, and what would permit more.
 */
#include "rights.h"

#include "base/str.h"
#include "host/host.h"
#include "target/command.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

enum { MAX_QUOTED = 4 * PATH_MAX };

/* The program's path, quoted for a shell. */
static void quote_program(char quoted[MAX_QUOTED])
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

	path[len > 0 ? len : 0] = '\0';
	target_command_quote((char *[]){path, NULL}, quoted, MAX_QUOTED);
	str_disarm(quoted);
}

void rights_print_ways(const struct host *h, const char *what, int paranoid)
{
	static const char *const introductions[] = {
	    [HOST_GRANT_FILE] = "type one of these lines",
	    [HOST_GRANT_CONTAINER] =
		"start the container with this option, or type the line outside of it",
	    [HOST_GRANT_NONE] = "type outside of the user namespace",
	};
	const char *capability = h->has_cap_perfmon ? "perfmon" : "sys_admin";
	char program[MAX_QUOTED];

	quote_program(program);
	dprintf(STDERR_FILENO, "\nTo measure %s, %s:\n", what, introductions[h->grant]);
	if (h->grant == HOST_GRANT_FILE) /* chown removes capabilities: first */
		dprintf(
		    STDERR_FILENO,
		    "  sudo chown root:%u %s && sudo chmod 0750 %s && sudo setcap cap_%s=ep %s\n",
		    (unsigned)getgid(), program, program, capability, program);
	if (h->grant == HOST_GRANT_CONTAINER)
		dprintf(STDERR_FILENO, "  --cap-add=%s\n",
			h->has_cap_perfmon ? "PERFMON" : "SYS_ADMIN");
	dprintf(STDERR_FILENO, "  sudo sysctl kernel.perf_event_paranoid=%d\n", paranoid);
}
