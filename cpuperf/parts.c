#include "parts.h"

#include "base/err.h"
#include "base/io.h"
#include "base/self.h"
#include "wire/stamp.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As the packages are made (scripts/package). */
const struct part parts[PART_NR] = {
    [PART_PRINTER] = {"cpuperf_print", "cpuperf_print", "cpuperf",
		      "no answer is printed: sessions are saved, and cannot be read", false, false},
    [PART_SPECS] = {"the folder of specs", CPUPERF_SPEC_DIR_FROM_BIN "/program.cpspec", "cpuperf",
		    "commands and specs by name are not measured", false, false},
    [PART_AGENT] = {"libcpuperf-agent.so", CPUPERF_AGENT_FROM_BIN, "cpuperf",
		    "events of the groups heap and resource are not measured", false, true},
    [PART_AGENT_I386] = {"libcpuperf-agent-i386.so", CPUPERF_AGENT_I386_FROM_BIN, "cpuperf",
			 "programs of 32 bits: heap and resource are not measured", true, true},
    [PART_FUNCTIONS] = {"libcpuperf-functions.so", CPUPERF_FUNCTIONS_FROM_BIN, "cpuperf",
			"calls of functions that the compiler has prepared are not measured", false,
			false},
    [PART_CAUSAL] = {"libcpuperf-causal.so", CPUPERF_CAUSAL_FROM_BIN, "cpuperf",
		     "--causal does no experiments", false, false},
    [PART_MARKS] = {"libcpuperf_marks.so", CPUPERF_MARKS_FROM_BIN, "cpuperf",
		    "marks of NVTX, ITT, Python and Fortran are not received", false, false},
    [PART_GPU] = {"cpuperf-gpu-pm", CPUPERF_GPU_FROM_BIN, "cpuperf",
		  "counters that NVIDIA's GPUs sample are not read", true, false},
    [PART_LIBRARY] = {"libcpuperf.so", CPUPERF_LIBRARY_FROM_BIN, CPUPERF_LIBRARY_PACKAGE,
		      "programs that link libcpuperf do not start", true, false},
    [PART_HEADER] = {"cpuperf/mark.h", CPUPERF_HEADER_FROM_BIN, "libcpuperf-dev",
		     "regions cannot be marked in source code", true, false},
};

bool part_near(const char *from_bin, char path[PATH_MAX])
{
	return self_near(from_bin, path) == 0 && access(path, F_OK) == 0;
}

bool part_find(enum part_id id, char path[PATH_MAX])
{
	return part_near(parts[id].from_bin, path);
}

static int refuse(const struct part *p, const char *path, int rc, uint32_t version, struct err *e)
{
	if (rc == -ENODATA)
		err_set_at(e, -EPROTO, path, 0, 0, "%s is damaged, or older than this cpuperf %s",
			   p->name, CPUPERF_VERSION);
	else if (rc)
		err_set_at(e, -EPROTO, path, 0, 0, "%s cannot be read: %s", p->name, io_reason(rc));
	else
		err_set_at(e, -EPROTO, path, 0, 0,
			   "%s has version %u of the agent's memory, and this cpuperf %s has %u",
			   p->name, version, CPUPERF_VERSION, wire_stamp_own());
	err_hint(e, "install the package %s %s whole: program and agent must be of one version",
		 p->package, CPUPERF_VERSION);
	return -EPROTO;
}

int part_check(enum part_id id, char path[PATH_MAX], struct err *e)
{
	const struct part *p = &parts[id];
	uint32_t version = 0;
	int rc;

	if (!part_find(id, path)) {
		err_set(e, -ENOENT, "%s is not installed", p->name);
		err_hint(e, "it is in the package %s", p->package);
		return -ENOENT;
	}
	rc = p->is_like_agent ? wire_stamp_read(path, &version) : 0;
	if (!p->is_like_agent || (rc == 0 && version == wire_stamp_own()))
		return 0;
	return refuse(p, path, rc, version, e);
}

int part_check_preload(enum part_id id, char path[PATH_MAX], struct err *e)
{
	int rc = part_check(id, path, e);

	if (rc || !path[strcspn(path, " \t\n:")]) /* they stand between two in LD_PRELOAD */
		return rc;
	err_set(e, -ENOTSUP,
		"cpuperf lies in a folder with a space or colon in its name, from where the loader "
		"of a program cannot load an agent");
	err_hint(e, "install cpuperf in a folder without");
	return -ENOTSUP;
}
