/*
 * By /proc/driver/nvidia and sysfs.
 */
#include "gpu/nvidia_driver.h"

#include "base/buf.h"
#include "base/root.h"
#include "base/str.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { MAX_INFORMATION_BYTES = 64 << 10 };

bool nvidia_is_address(const char *name)
{
	return *name && strlen(name) < NVIDIA_ADDRESS_BYTES &&
	       name[strspn(name, "0123456789abcdefABCDEF:.")] == '\0';
}

/* By the line "Device Minor: 0". */
void nvidia_name(const struct root *root, const char *address, char name[NVIDIA_NAME_BYTES])
{
	static const char key[] = "Device Minor:";
	char path[PATH_MAX];
	const char *at;
	uint64_t minor;
	BUF_AUTO(text, MAX_INFORMATION_BYTES);

	snprintf(name, NVIDIA_NAME_BYTES, "%s", address);
	snprintf(path, sizeof(path), NVIDIA_GPUS "/%s/information", address);
	if (root_load(root, path, &text))
		return;
	at = strstr(buf_str(&text), key);
	if (!at)
		return;
	at += strlen(key);
	at += strspn(at, " \t");
	if (str_scan_u64(&at, buf_str(&text) + text.len, &minor) == 0 && minor <= UINT32_MAX)
		snprintf(name, NVIDIA_NAME_BYTES, "nvidia%u", (unsigned)minor);
}

bool nvidia_is_awake(const struct root *root, const char *address)
{
	char path[PATH_MAX], line[32];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/power/runtime_status", address);
	return root_load_line(root, path, line, sizeof(line)) || strncmp(line, "suspend", 7) != 0;
}

struct list {
	char (*addresses)[NVIDIA_ADDRESS_BYTES];
	size_t nr, max;
};

static int add(const char *name, void *arg)
{
	struct list *l = arg;

	if (nvidia_is_address(name) && l->nr < l->max)
		snprintf(l->addresses[l->nr++], NVIDIA_ADDRESS_BYTES, "%s", name);
	return 0;
}

size_t nvidia_list(const struct root *root, char addresses[][NVIDIA_ADDRESS_BYTES], size_t max)
{
	struct list l = {.addresses = addresses, .max = max};

	/* in byte order */
	(void)root_each(root, NVIDIA_GPUS, add, &l);
	return l.nr;
}
