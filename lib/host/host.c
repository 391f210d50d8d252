/*
 * The machine, from /proc and sysfs.
 */
#include "host/host.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "proc/keys.h"
#include "proc/proc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PMU_FOLDER "/sys/bus/event_source/devices"

enum { MAX_TEXT_BYTES = 4 << 20, MAX_PMUS = 4096 };

/* Bits of CapEff: include/uapi/linux/capability.h */
enum { CAP_BIT_SYS_PTRACE = 19, CAP_BIT_SYS_ADMIN = 21, CAP_BIT_PERFMON = 38 };

/* Copies the text after "key<spaces>:" of a /proc file, up to the end of the line, trimmed. */
static bool find_field(const char *text, const char *key, char *out, size_t size)
{
	size_t key_len = strlen(key), len;

	for (; *text; text += len + (text[len] == '\n')) {
		const char *p = text + key_len, *end;

		len = strcspn(text, "\n");
		if (len < key_len || memcmp(text, key, key_len) != 0)
			continue;
		p += strspn(p, " \t");
		if (*p != ':')
			continue;
		p++;
		p += strspn(p, " \t");
		for (end = text + len; end > p && strchr(" \t", end[-1]); end--)
			;
		snprintf(out, size, "%.*s", (int)(end - p), p);
		return true;
	}
	return false;
}

static uint32_t find_number(const char *text, const char *key)
{
	char digits[16];
	uint64_t n;

	if (!find_field(text, key, digits, sizeof(digits)) || str_parse_u64(digits, &n) ||
	    n > UINT32_MAX)
		return 0;
	return (uint32_t)n;
}

/* x86 publishes a model name and numbers; ARM implementer and part (arch/arm64/kernel/cpuinfo.c).
 */
static void load_cpu_model(struct host *h)
{
	char implementer[16], part[16];
	BUF_AUTO(text, MAX_TEXT_BYTES);

	/* may be truncated: only the first CPU is read, and 8,192 CPUs make a long file */
	(void)root_load(&h->root, "/proc/cpuinfo", &text);
	if (!find_field(buf_str(&text), "model name", h->cpu_model, sizeof(h->cpu_model)) &&
	    find_field(buf_str(&text), "CPU implementer", implementer, sizeof(implementer)) &&
	    find_field(buf_str(&text), "CPU part", part, sizeof(part)))
		snprintf(h->cpu_model, sizeof(h->cpu_model), "ARM implementer %s part %s",
			 implementer, part);
	(void)find_field(buf_str(&text), "vendor_id", h->cpu_vendor, sizeof(h->cpu_vendor));
	h->cpu_family = find_number(buf_str(&text), "cpu family");
	h->cpu_model_nr = find_number(buf_str(&text), "model");
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "0b51cf67-bd07-4ea9-8ad2-83a1a2b1e4c5" */
static void load_boot_id(struct host *h)
{
	char line[64];
	size_t nr = 0;

	if (root_load_line(&h->root, "/proc/sys/kernel/random/boot_id", line, sizeof(line)))
		return;
	for (const char *p = line; *p && nr < 32; p++) {
		int digit = hex_digit(*p);

		if (digit < 0)
			continue;
		h->boot_id[nr / 2] = (uint8_t)(h->boot_id[nr / 2] << 4 | digit);
		nr++;
	}
}

static void load_identity(struct host *h)
{
	struct utsname u;

	if (uname(&u) == 0)
		snprintf(h->machine, sizeof(h->machine), "%.16s", u.machine);
	(void)root_load_line(&h->root, "/proc/sys/kernel/hostname", h->node, sizeof(h->node));
	(void)root_load_line(&h->root, "/proc/sys/kernel/osrelease", h->kernel, sizeof(h->kernel));
	load_cpu_model(h);
	load_boot_id(h);
	h->user_hz = (uint32_t)sysconf(_SC_CLK_TCK);
	h->page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
}

static int load_paranoid(const struct host *h)
{
	char line[16];
	uint64_t v;
	const char *digits = line;

	if (root_load_line(&h->root, "/proc/sys/kernel/perf_event_paranoid", line, sizeof(line)))
		return INT_MAX;
	digits += *line == '-';
	if (str_parse_u64(digits, &v) || v > 1000)
		return INT_MAX;
	return *line == '-' ? -(int)v : (int)v;
}

/* A set of capabilities, "CapEff", of /proc/self/status; 0: there is none. */
static uint64_t load_capabilities(const struct root *root, const char *set)
{
	uint64_t caps = 0;
	struct proc_key key = {set, &caps, .kind = PROC_HEX};

	return proc_keys_load(PROC_SELF(root), "status", &key, 1) ? 0 : caps;
}

/* perf_event_open(2) requires capabilities of the first user namespace, the one that maps all
 * numbers to themselves (uid_m_show() in kernel/user_namespace.c). Without CONFIG_USER_NS there is
 * no file. */
static bool is_in_user_namespace(const struct root *root)
{
	char line[128];

	return root_load_line(root, "/proc/self/uid_map", line, sizeof(line)) == 0 &&
	       strcmp(line, "         0          0 4294967295") != 0;
}

static void load_rights(struct host *h)
{
	const uint64_t may = 1ull << CAP_BIT_SYS_ADMIN | 1ull << CAP_BIT_PERFMON;
	uint64_t bound = load_capabilities(&h->root, "CapBnd"), last;

	h->has_cap_perfmon = root_load_u64(&h->root, "/proc/sys/kernel/cap_last_cap", &last) ||
			     last >= CAP_BIT_PERFMON;
	if (is_in_user_namespace(&h->root))
		h->grant = HOST_GRANT_NONE;
	else if (bound && !(bound & may))
		h->grant = HOST_GRANT_CONTAINER;
	h->may_perfmon = h->grant != HOST_GRANT_NONE && load_capabilities(&h->root, "CapEff") & may;
}

bool host_may_trace(const struct root *root)
{
	return load_capabilities(root, "CapEff") & 1ull << CAP_BIT_SYS_PTRACE;
}

static int load_cpuset(const struct root *root, const char *path, struct cpuset *out)
{
	BUF_AUTO(text, 65536);

	return root_load(root, path, &text) ?: cpuset_parse(buf_str(&text), text.len, out);
}

/* Only core PMUs have a file "cpus" (ARM, hybrid x86); other x86 machines have one core PMU, "cpu".
 * "cpumask" lists the CPUs on which to open a PMU that serves several CPUs. A mask that cannot be
 * read leaves the set empty: opening the PMU on every CPU would count its events many times. */
static int load_pmu_cpus(const struct host *h, struct host_pmu *pmu)
{
	char path[256];
	int rc;

	snprintf(path, sizeof(path), PMU_FOLDER "/%s/cpus", pmu->name);
	rc = load_cpuset(&h->root, path, &pmu->cpus);
	pmu->is_core = rc == 0 || strcmp(pmu->name, "cpu") == 0;
	if (rc == 0 || rc == -ENOMEM)
		return rc;
	snprintf(path, sizeof(path), PMU_FOLDER "/%s/cpumask", pmu->name);
	rc = load_cpuset(&h->root, path, &pmu->cpus);
	pmu->has_cpumask = rc != -ENOENT;
	return rc == -ENOMEM ? rc : 0;
}

static int load_pmu(const char *name, void *arg)
{
	struct host *h = arg;
	struct host_pmu *pmu, *grown;
	char path[256];
	uint64_t type;

	if (h->nr_pmus == MAX_PMUS || strlen(name) >= sizeof(pmu->name))
		return 0;
	snprintf(path, sizeof(path), PMU_FOLDER "/%s/type", name);
	if (root_load_u64(&h->root, path, &type) || type > UINT32_MAX)
		return 0;
	grown = mem_resize(h->pmus, (h->nr_pmus + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	h->pmus = grown;
	pmu = &grown[h->nr_pmus++];
	memset(pmu, 0, sizeof(*pmu));
	snprintf(pmu->name, sizeof(pmu->name), "%s", name);
	pmu->type = (uint32_t)type;
	return load_pmu_cpus(h, pmu);
}

int host_load(const struct root *root, struct host *out, struct err *e)
{
	struct host h = {.root = *root};
	uint64_t watchdog;
	int rc = load_cpuset(root, "/sys/devices/system/cpu/online", &h.online);

	if (rc == 0 && cpuset_count(&h.online) == 0)
		rc = -EINVAL;
	if (rc)
		return err_set(e, rc, "%s/sys/devices/system/cpu/online: cannot be read: %s",
			       root->dir, strerror(-rc));
	load_identity(&h);
	h.perf_event_paranoid = load_paranoid(&h);
	load_rights(&h);
	h.nmi_watchdog =
	    root_load_u64(root, "/proc/sys/kernel/nmi_watchdog", &watchdog) == 0 && watchdog == 1;
	rc = root_each(root, PMU_FOLDER, load_pmu, &h);
	if (rc == -ENOMEM) {
		host_fini(&h);
		return err_set(e, rc, "out of memory");
	}
	*out = h;
	return 0;
}

void host_fini(struct host *h)
{
	mem_free(h->pmus);
	h->pmus = NULL;
	h->nr_pmus = 0;
}

const struct host_pmu *host_find_pmu(const struct host *h, const char *name)
{
	return ARRAY_FIND(pmu, h->pmus, h->nr_pmus, strcmp(pmu->name, name) == 0);
}

/* 0: unknown. */
static uint64_t load_limit(const struct host *h, const char *path)
{
	uint64_t limit;

	return root_load_u64(&h->root, path, &limit) ? 0 : limit;
}

uint64_t host_max_sample_rate(const struct host *h)
{
	return load_limit(h, "/proc/sys/kernel/perf_event_max_sample_rate");
}

uint64_t host_max_stack(const struct host *h)
{
	return load_limit(h, "/proc/sys/kernel/perf_event_max_stack");
}

bool host_has_core_pmu(const struct host *h, int cpu)
{
	return ARRAY_ANY(pmu, h->pmus, h->nr_pmus,
			 pmu->is_core && (cpu < 0 || cpuset_count(&pmu->cpus) == 0 ||
					  cpuset_has(&pmu->cpus, (unsigned)cpu)));
}

bool host_may_measure_cpus(const struct host *h)
{
	return h->may_perfmon || h->perf_event_paranoid <= 0;
}

bool host_may_measure_kernel(const struct host *h)
{
	return h->may_perfmon || h->perf_event_paranoid <= 1;
}
