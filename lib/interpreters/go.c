/*
 * Go: programs of it are compiled, and have labels of goroutines (pprof.Do). A program that cannot
 * set any is none of these. Its version says where the runtime has what (go.tsv); that it is so in
 * this program, two functions of it say: the one that sets labels has their offset, and the one
 * that switches to the stack of the runtime reads the goroutine from the thread's own storage. Both
 * are found by the table that Go's own runtime has, so also in programs that are stripped.
 */
#include "interpreters/language.h"

#include "base/array.h"
#include "base/log.h"
#include "base/order.h"
#include "elf/file.h"
#include "elf/layout.h"
#include "elf/pclntab.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

struct go_version {
	unsigned major, minor;
	struct bpf_go_offsets at;
};
#include "interpreters/generated/go.h"

enum {
	/* of .go.buildinfo */
	FLAGS_AT = 15,
	IS_INLINE = 2, /* the version itself is there, and not where it is */
	POINTER_AT = 16,
	INLINE_AT = 32,
	MAX_VERSION_BYTES = 64,
	MAX_CODE_BYTES = 256, /* of a function are read */
};

static const char *const no_symbols[] = {NULL};

/* --- the version */

struct text {
	const char *data;
	size_t len;
};

/* That of a program built by Go up to 1.17 is a text elsewhere. */
static bool find_version(const struct elf_file *f, struct text *out)
{
	struct elf_section s;
	const uint8_t *p;
	size_t len;

	if (!elf_file_load_section(f, ".go.buildinfo", &s) || s.size < INLINE_AT)
		return false;
	if (s.data[FLAGS_AT] & IS_INLINE) {
		*out = (struct text){(const char *)s.data + INLINE_AT + 1, 0};
		out->len = s.size > INLINE_AT ? s.data[INLINE_AT] : 0;
		return out->len < MAX_VERSION_BYTES && out->len < s.size - INLINE_AT;
	}
	p = elf_file_bytes(f, elf_load(s.data + POINTER_AT, 8), 16, &len);
	if (!p || len < 16)
		return false;
	out->len = elf_load(p + 8, 8);
	if (out->len >= MAX_VERSION_BYTES)
		return false;
	out->data = (const char *)elf_file_bytes(f, elf_load(p, 8), out->len, &len);
	return out->data && len == out->len;
}

/* "go1.24.4"; what is between two versions says so at its begin. */
static const struct go_version *read_version(const struct text *t)
{
	static const char begin[] = "go1.";
	const size_t at = sizeof(begin) - 1;
	unsigned minor = 0;

	if (t->len <= at || memcmp(t->data, begin, at) != 0)
		return NULL;
	for (size_t i = at; i < t->len && t->data[i] >= '0' && t->data[i] <= '9' && minor < 1000;
	     i++)
		minor = minor * 10 + (unsigned)(t->data[i] - '0');
	return ARRAY_FIND(v, go_versions, ARRAY_NR(go_versions),
			  v->major == 1 && v->minor == minor);
}

/* --- its functions */

/* The bytes of a function of that name; len 0: it has none. */
static struct elf_pclntab_part find_code(struct elf_pclntab *t, const char *name)
{
	const size_t bytes = strlen(name) + 1;
	struct elf_pclntab_function fn;
	struct elf_pclntab_part code = {NULL, 0};

	for (size_t i = 0; i < t->nr; i++) {
		if (!elf_pclntab_function(t, i, &fn) || fn.name > t->names.len ||
		    t->names.len - fn.name < bytes ||
		    memcmp(t->names.data + fn.name, name, bytes) != 0)
			continue;
		code.data = elf_file_bytes(t->file, fn.start,
					   fn.end - fn.start < MAX_CODE_BYTES ? fn.end - fn.start
									      : MAX_CODE_BYTES,
					   &code.len);
		break;
	}
	if (!code.data)
		code.len = 0;
	return code;
}

static bool has_offset(const struct elf_pclntab_part *code, uint32_t offset)
{
	uint8_t bytes[4];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(offset >> 8 * i);
	return code->len && memmem(code->data, code->len, bytes, sizeof(bytes));
}

/* By the first instruction that reads there, and the one that then reads the thread. */
static bool find_tls(const struct elf_pclntab_part *code, uint16_t g_m, int64_t *out)
{
	static const struct {
		uint8_t before[5], nr_before; /* a number of 32 bits follows: the offset */
		uint8_t after[4], nr_after;
	} forms[] = {{{0x64, 0x48, 0x8b, 0x04, 0x25}, 5, {0}, 0},
		     {{0x48, 0xc7, 0xc1}, 3, {0x64, 0x48, 0x8b, 0x01}, 4}};
	const uint8_t reads_m[] = {0x48, 0x8b, 0x58, (uint8_t)g_m};

	for (size_t i = 0; i < ARRAY_NR(forms); i++) {
		const uint8_t *p =
		    code->len ? memmem(code->data, code->len, forms[i].before, forms[i].nr_before)
			      : NULL;
		const size_t at = p ? (size_t)(p - code->data) + forms[i].nr_before : 0;
		const size_t next = at + 4 + forms[i].nr_after;

		if (!p || code->len < next + sizeof(reads_m) ||
		    memcmp(code->data + at + 4, forms[i].after, forms[i].nr_after) != 0 ||
		    memcmp(code->data + next, reads_m, sizeof(reads_m)) != 0)
			continue;
		*out = (int32_t)elf_load(code->data + at, 4);
		return true;
	}
	return false;
}

/* --- */

/* What is loaded and never written, up to what is. */
static void find_constants(const struct elf_file *f, struct bpf_go *go)
{
	struct elf_segment s;

	for (size_t i = 0; i < elf_file_nr_segments(f); i++) {
		elf_file_segment(f, i, &s);
		if (s.is_writable)
			return;
		if (!i)
			go->constants_begin = s.address;
		go->constants_end = s.address + s.file_bytes;
	}
}

static bool read_file(const struct elf_file *f, const struct interpreters_symbol *found,
		      struct bpf_interpreted_process *out)
{
	struct elf_pclntab_part setter, switcher;
	const struct go_version *v;
	struct elf_pclntab t;
	struct text version;
	int64_t tls = 0;

	(void)found;
	if (!elf_pclntab_is_there(f) || !find_version(f, &version) || !elf_pclntab_open(f, &t))
		return false;
	setter = find_code(&t, "runtime/pprof.runtime_setProfLabel");
	if (!setter.len)
		return false;
	v = read_version(&version);
	switcher = find_code(&t, "runtime.systemstack");
	if (!v || !has_offset(&setter, v->at.g_labels) || !find_tls(&switcher, v->at.g_m, &tls)) {
		log_warning("labels of goroutines are not read: %.*s has them elsewhere than the "
			    "versions that are known",
			    (int)version.len, version.data);
		return false;
	}
	out->go = (struct bpf_go){.tls = tls, .at = v->at};
	find_constants(f, &out->go);
	return true;
}

static void move(struct bpf_interpreted_process *p, uint64_t base)
{
	p->go.constants_begin += base;
	p->go.constants_end += base;
}

/* --- labels */

static int compare_labels(const void *a, const void *b)
{
	const struct bpf_go_label *x = a, *y = b;
	const size_t nr = x->key_bytes < y->key_bytes ? x->key_bytes : y->key_bytes;

	return memcmp(x->key, y->key, nr) ?: order_u64(x->key_bytes, y->key_bytes);
}

static bool is_text(const uint8_t *text, size_t len)
{
	return !memchr(text, 0, len);
}

static size_t add_text(uint8_t *to, size_t at, const uint8_t *text, size_t len)
{
	memcpy(to + at, text, len);
	to[at + len] = 0;
	return at + len + 1;
}

/* Of keys and values, each with a zero byte behind it, by key. */
static void name_code(struct trace_code *code, uint8_t lines[BPF_INTERPRETED_LINES_BYTES])
{
	struct bpf_go_label label[BPF_GO_MAX_LABELS];
	size_t nr = code->lines_bytes / sizeof(*label), at = 0;

	if (nr > BPF_GO_MAX_LABELS)
		nr = BPF_GO_MAX_LABELS;
	memcpy(label, code->lines, nr * sizeof(*label));
	qsort(label, nr, sizeof(*label), compare_labels);
	for (size_t i = 0; i < nr; i++) {
		const struct bpf_go_label *l = &label[i];

		if (!l->key_bytes || l->key_bytes > BPF_GO_KEY_BYTES ||
		    !is_text(l->key, l->key_bytes) || !is_text(l->value, l->value_bytes))
			continue;
		at = add_text(lines, at, l->key, l->key_bytes);
		at = add_text(lines, at, l->value, l->value_bytes);
	}
	code->lines = lines;
	code->lines_bytes = (uint32_t)at;
	code->table = TRACE_LINES_NONE;
}

const struct interpreters_language interpreters_go = {
    .number = BPF_INTERPRETED_GO,
    .section = ".go.buildinfo",
    .symbols = no_symbols,
    .read = read_file,
    .move = move,
    .name = name_code,
    .far = interpreters_go_far,
};
