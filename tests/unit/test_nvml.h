/*
 * What tests of NVIDIA's GPUs share: a root with their driver's files, the stand-in for its library
 * (tests/nvml/standin.c), its script and its log. Only for tests.
 */
#ifndef TEST_NVML_H
#define TEST_NVML_H

#include "kit.h"

#include "base/buf.h"

struct standin {
	struct root root;
	char script[300], log[300];
};

static inline void standin_script(const struct standin *s, const char *text)
{
	/* never half of it: the library reads it at any time */
	tree_text(&s->root, "/script.new", text);
	tree_rename(&s->root, "/script.new", "/script");
}

static inline void standin_add_gpu(const struct standin *s, const char *address, unsigned minor)
{
	char path[200], text[200];

	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", address);
	snprintf(text, sizeof(text), "Model: \t\t A\nBus Location: \t %s\nDevice Minor: \t %u\n",
		 address, minor);
	tree_text(&s->root, path, text);
}

static inline void standin_drop_gpu(const struct standin *s, const char *address)
{
	char path[200];

	snprintf(path, sizeof(path), "/proc/driver/nvidia/gpus/%s/information", address);
	tree_drop(&s->root, path);
	*strrchr(path, '/') = '\0';
	tree_drop(&s->root, path);
}

static inline void standin_power_state(const struct standin *s, const char *address,
				       const char *state)
{
	char path[200];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/power/runtime_status", address);
	tree_text(&s->root, path, state);
}

/* kind: a folder of NVML_STANDINS; NULL: no library. */
static inline void standin_library(const struct standin *s, const char *kind)
{
	char path[400], to[400];

	snprintf(path, sizeof(path), "%s/libnvidia-ml.so.1", s->root.dir);
	unlink(path);
	snprintf(to, sizeof(to), "%s/%s/libnvidia-ml.so.1", NVML_STANDINS, kind ? kind : "");
	if (kind)
		assert_int_equal(symlink(to, path), 0);
}

/* One GPU, nvidia0, with that script; without files of DRM. */
static inline void standin_make(struct standin *s, const char *kind, const char *script)
{
	*s = (struct standin){.root = tree_make()};
	snprintf(s->script, sizeof(s->script), "%s/script", s->root.dir);
	snprintf(s->log, sizeof(s->log), "%s/log", s->root.dir);
	setenv("NVML_STANDIN", s->script, 1);
	setenv("NVML_STANDIN_LOG", s->log, 1);
	standin_library(s, kind);
	standin_add_gpu(s, "0000:01:00.0", 0);
	standin_script(s, script);
}

static inline void standin_remove(const struct standin *s)
{
	unsetenv("NVML_STANDIN");
	unsetenv("NVML_STANDIN_LOG");
	tree_remove(&s->root);
}

/* How often the line is in the log; "": all lines. */
static inline unsigned standin_calls(const struct standin *s, const char *line)
{
	BUF_AUTO(text, 1 << 20);
	unsigned nr = 0;
	char *rest, *at;

	if (root_load(&s->root, "/log", &text))
		return 0;
	buf_addc(&text, '\0');
	rest = text.data;
	while ((at = strsep(&rest, "\n")))
		nr += *line ? strcmp(at, line) == 0 : *at != '\0';
	return nr;
}

static inline void standin_forget_calls(const struct standin *s)
{
	unlink(s->log);
}

#endif
