/*
 * The capabilities of this thread, by the bare system calls: libcap is not needed for so little.
 */
#include "base/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* older headers lack both capabilities */
enum { PERFMON = 38, BPF = 39, NR_WORDS = _LINUX_CAPABILITY_U32S_3 };

/* Raised beside what measuring needs: of little use alone, and harmless while they are effective.
 */
#define FURTHER (1ull << BPF | 1ull << CAP_SYSLOG | 1ull << CAP_IPC_LOCK)

static uint64_t held; /* bits of capabilities */

static int get_permitted(uint64_t *out)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[NR_WORDS] = {{0}};

	if (syscall(SYS_capget, &head, data))
		return -errno;
	*out = data[0].permitted | (uint64_t)data[1].permitted << 32;
	return 0;
}

/* Nothing is inheritable, hence nothing ambient: exec leaves no capability. */
static int set(uint64_t permitted, uint64_t effective)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[NR_WORDS] = {{0}};

	for (unsigned i = 0; i < NR_WORDS; i++) {
		data[i].permitted = (uint32_t)(permitted >> 32 * i);
		data[i].effective = (uint32_t)(effective >> 32 * i);
	}
	return syscall(SYS_capset, &head, data) ? -errno : 0;
}

int privilege_init(struct err *e)
{
	const uint64_t perfmon = 1ull << PERFMON, admin = 1ull << CAP_SYS_ADMIN;
	uint64_t permitted = 0;
	int rc;

	if (!getauxval(AT_SECURE))
		return 0;
	if (geteuid() != getuid() || getegid() != getgid()) {
		err_set(e, -EPERM, "it is set-user-ID or set-group-ID, which is not supported");
		err_hint(e, "chmod ug-s it; a capability permits its users to measure: "
			    "cpuperf-rights(7)");
		return -EPERM;
	}
	if (getuid() == 0) /* a security module asks for care; the capabilities are root's own */
		return 0;
	rc = get_permitted(&permitted);
	if (rc == 0) {
		held = permitted & ((permitted & perfmon ? perfmon : admin) | FURTHER);
		rc = set(held, 0);
	}
	return rc ? err_set(e, rc, "capabilities cannot be dropped: %s", strerror(-rc)) : 0;
}

bool privilege_is_held(void)
{
	return held & ~FURTHER;
}

static void become(uint64_t effective)
{
	int saved = errno;

	if (held)
		(void)set(held, effective); /* at worst what needs it is refused */
	errno = saved;
}

void privilege_raise(void)
{
	become(held);
}

void privilege_lower(void)
{
	become(0);
}

void privilege_drop(void)
{
	if (held && set(0, 0) == 0)
		held = 0;
}
