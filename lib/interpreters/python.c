/*
 * CPython: its version says where it has what (python.tsv).
 */
#include "interpreters/language.h"

#include "base/array.h"
#include "elf/file.h"

#include <string.h>

struct python_version {
	unsigned major, minor;
	struct bpf_python_offsets at;
};
#include "interpreters/generated/python.h"

enum symbol {
	RUNTIME,
	LOOP,
	CODE_TYPE,
	VERSION,
	SINCE, /* the first of the functions that say the version */
};
static const char *const symbols[] = {
    [RUNTIME] = "_PyRuntime",    [LOOP] = "_PyEval_EvalFrameDefault",
    [CODE_TYPE] = "PyCode_Type", [VERSION] = "Py_Version",
    "PyCode_NewWithPosOnlyArgs", "PyFrame_GetCode",
    "PyModule_AddObjectRef",     NULL};

/* The first versions with these functions, which none has without those before: up to 3.10 no
 * data says which it is. */
static const uint32_t since[] = {0x308, 0x309, 0x30a};
_Static_assert(ARRAY_NR(symbols) == SINCE + ARRAY_NR(since) + 1, "each function has a version");

/* Py_Version: 0x030b02f0 is 3.11.2. */
static uint32_t read_version(const struct elf_file *f, const struct interpreters_symbol *found)
{
	uint32_t version = 0;
	size_t len = 0;
	const uint8_t *p = NULL;

	for (size_t i = 0; i < ARRAY_NR(since); i++)
		if (found[SINCE + i].value)
			version = since[i];
	if (found[VERSION].value)
		p = elf_file_bytes(f, found[VERSION].value, 4, &len);
	return p && len >= 4 ? (uint32_t)p[3] << 8 | p[2] : version;
}

/* From 3.13 on the runtime begins with offsets of its own. A build without the lock of the
 * interpreter has objects of another form. */
static bool is_free_threaded(const struct elf_file *f, uint64_t runtime, uint32_t version)
{
	static const char cookie[] =
	    "xdebugpy"; /* then 64 bits: its version, and what is asked for */
	enum { COOKIE = 8, FREE_AT = 16, BYTES = 24, SINCE_VERSION = 0x30d };
	size_t len = 0;
	const uint8_t *p;

	if (version < SINCE_VERSION)
		return false;
	p = elf_file_bytes(f, runtime, BYTES, &len);
	return !p || len < BYTES || memcmp(p, cookie, COOKIE) != 0 || p[FREE_AT];
}

static bool read_file(const struct elf_file *f, const struct interpreters_symbol *found,
		      struct bpf_interpreted_process *out)
{
	const uint32_t version = read_version(f, found);
	const struct python_version *v =
	    ARRAY_FIND(it, python_versions, ARRAY_NR(python_versions),
		       it->major == version >> 8 && it->minor == (version & 0xff));

	if (!v || !found[RUNTIME].value || !found[LOOP].value || !found[CODE_TYPE].value ||
	    is_free_threaded(f, found[RUNTIME].value, version))
		return false;
	out->python.at = v->at;
	out->python.runtime = found[RUNTIME].value;
	out->python.code_type = found[CODE_TYPE].value;
	out->loop_begin = found[LOOP].value;
	out->loop_end = found[LOOP].value + found[LOOP].size;
	return true;
}

static void move(struct bpf_interpreted_process *p, uint64_t base)
{
	p->python.runtime += base;
	p->python.code_type += base;
}

const struct interpreters_language interpreters_python = {
    .number = BPF_INTERPRETED_PYTHON,
    .file = "python",
    .symbols = symbols,
    .read = read_file,
    .move = move,
    .far = interpreters_python_far,
};
