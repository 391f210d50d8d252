/* The types that a program names, out of a kernel's made here and out of this machine's. */
#include "kit.h"

#include "base/buf.h"
#include "base/root.h"
#include "bpf/btf_types.h"
#include "bpf/reduced_types.h"
#include "inject.h"

#include <errno.h>
#include <linux/btf.h>

enum { NR_FILLERS = 200 }; /* types before those that matter */

/* BTF in the making. */
struct made {
	struct buf types, strings, all;
	uint32_t nr;
};

static uint32_t add_string(struct made *m, const char *s)
{
	uint32_t at = (uint32_t)m->strings.len;

	if (!*s)
		return 0;
	buf_add(&m->strings, s, strlen(s) + 1);
	return at;
}

/* Its number. size: or a type. */
static uint32_t add_type(struct made *m, const char *name, uint32_t kind, uint32_t vlen,
			 uint32_t size)
{
	struct btf_type t = {
	    .name_off = add_string(m, name), .info = kind << 24 | vlen, .size = size};

	buf_add(&m->types, &t, sizeof(t));
	return ++m->nr;
}

static void add_words(struct made *m, uint32_t a, uint32_t b, uint32_t c)
{
	buf_le32(&m->types, a);
	buf_le32(&m->types, b);
	buf_le32(&m->types, c);
}

static void add_member(struct made *m, const char *name, uint32_t type, uint32_t bits)
{
	add_words(m, add_string(m, name), type, bits);
}

static uint32_t add_int(struct made *m, const char *name)
{
	uint32_t number = add_type(m, name, BTF_KIND_INT, 0, 4);

	buf_le32(&m->types, 32);
	return number;
}

static void begin(struct made *m)
{
	buf_init(&m->types, 1 << 20);
	buf_init(&m->strings, 1 << 20);
	buf_init(&m->all, 1 << 20);
	buf_addc(&m->strings, '\0');
	m->nr = 0;
}

static void end(struct made *m)
{
	struct btf_header h = {.magic = BTF_MAGIC,
			       .version = BTF_VERSION,
			       .hdr_len = sizeof(h),
			       .type_len = (uint32_t)m->types.len,
			       .str_off = (uint32_t)m->types.len,
			       .str_len = (uint32_t)m->strings.len};

	buf_reset(&m->all);
	buf_add(&m->all, &h, sizeof(h));
	buf_add(&m->all, m->types.data, m->types.len);
	buf_add(&m->all, m->strings.data, m->strings.len);
}

static void fini(struct made *m)
{
	buf_fini(&m->types);
	buf_fini(&m->strings);
	buf_fini(&m->all);
}

static struct made kernel, program;
static uint32_t of_trace, of_iter;

/*
 * struct inner { int x, y; };
 * struct task { int pid; union { int a, b; }; struct inner in; struct other *p; int unused; in4
 * words; };
 */
static void make_kernel(void)
{
	uint32_t number, inner, choice, pointer, array, alias;

	begin(&kernel);
	for (int i = 0; i < NR_FILLERS; i++)
		add_type(&kernel, i ? "" : "filler", BTF_KIND_PTR, 0, 0);
	number = add_int(&kernel, "int");
	inner = add_type(&kernel, "inner", BTF_KIND_STRUCT, 2, 8);
	add_member(&kernel, "x", number, 0);
	add_member(&kernel, "y", number, 32);
	choice = add_type(&kernel, "", BTF_KIND_UNION, 2, 4);
	add_member(&kernel, "a", number, 0);
	add_member(&kernel, "b", number, 0);
	array = add_type(&kernel, "", BTF_KIND_ARRAY, 0, 0);
	add_words(&kernel, number, number, 4);
	alias = add_type(&kernel, "in4", BTF_KIND_TYPEDEF, 0, array);
	pointer = add_type(&kernel, "", BTF_KIND_PTR, 0, kernel.nr + 3);
	add_type(&kernel, "task", BTF_KIND_STRUCT, 6, 40);
	add_member(&kernel, "pid", number, 0);
	add_member(&kernel, "", choice, 32);
	add_member(&kernel, "in", inner, 64);
	add_member(&kernel, "p", pointer, 128);
	add_member(&kernel, "unused", number, 192);
	add_member(&kernel, "words", alias, 224);
	add_type(&kernel, "other", BTF_KIND_STRUCT, 1, 4);
	add_member(&kernel, "pid", number, 0);
	add_type(&kernel, "", BTF_KIND_FUNC_PROTO, 2, 0);
	for (int i = 0; i < 4; i++)
		buf_le32(&kernel.types, 0);
	add_type(&kernel, "", BTF_KIND_PTR, 0, kernel.nr);
	of_trace = add_type(&kernel, "btf_trace_x", BTF_KIND_TYPEDEF, 0, kernel.nr);
	of_iter = add_type(&kernel, "bpf_iter_task", BTF_KIND_FUNC, 0, 0);
	end(&kernel);
}

static void make_program(void)
{
	begin(&program);
	add_type(&program, "task___new", BTF_KIND_STRUCT, 5, 24);
	add_member(&program, "pid", 2, 0);
	add_member(&program, "b", 2, 32);
	add_member(&program, "in", 3, 64);
	add_member(&program, "p", 2, 128);
	add_member(&program, "words", 2, 128);
	add_int(&program, "int");
	add_type(&program, "inner", BTF_KIND_STRUCT, 1, 4);
	add_member(&program, "y", 2, 0);
	end(&program);
}

static int make(struct buf *out, struct reduced_types_number *number, size_t nr)
{
	return reduced_types_make(kernel.all.data, kernel.all.len, program.all.data,
				  program.all.len, number, nr, out);
}

HOOK(before_all)
{
	make_kernel();
	make_program();
}

HOOK(after_all)
{
	fini(&kernel);
	fini(&program);
}

/* A type or its members as text: "STRUCT task 40: pid@0 …", each with what it is of. */
static void add_text(struct buf *to, const struct buf *b, uint32_t number, int depth)
{
	const struct btf_header *h = (const void *)b->data;
	const char *strings = b->data + sizeof(*h) + h->str_off, *p = b->data + sizeof(*h);
	const struct btf_type *t = (const void *)p;

	for (uint32_t i = 1; i < number; i++) {
		uint32_t kind = BTF_INFO_KIND(t->info), nr = BTF_INFO_VLEN(t->info);

		p += sizeof(*t) + (kind == BTF_KIND_INT     ? 4
				   : kind == BTF_KIND_ARRAY ? 12
							    : nr * 12);
		t = (const void *)p;
	}
	assert_true(depth < 5 && p < strings);
	buf_printf(to, "%u %s", BTF_INFO_KIND(t->info), strings + t->name_off);
	if (BTF_INFO_KIND(t->info) == BTF_KIND_TYPEDEF) {
		buf_adds(to, " = ");
		add_text(to, b, t->type, depth + 1);
	}
	if (BTF_INFO_KIND(t->info) == BTF_KIND_PTR)
		assert_int_equal(t->type, 0);
	if (BTF_INFO_KIND(t->info) == BTF_KIND_ARRAY)
		buf_printf(to, "[%u]", ((const struct btf_array *)(t + 1))->nelems);
	if (!BTF_INFO_VLEN(t->info))
		return;
	buf_printf(to, " %u {", t->size);
	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++) {
		const struct btf_member *m = (const struct btf_member *)(t + 1) + i;

		buf_printf(to, " %s@%u: ", strings + m->name_off, m->offset);
		add_text(to, b, m->type, depth + 1);
	}
	buf_adds(to, " }");
}

/* Only what the program names, in the kernel's places; all of its numbers are the kernel's. */
TEST(reduced)
{
	struct reduced_types_number number[] = {{"btf_trace_x", BTF_KIND_TYPEDEF, 0},
						{"bpf_iter_task", BTF_KIND_FUNC, 0},
						{"bpf_iter_task", BTF_KIND_TYPEDEF, 0},
						{"nothing", BTF_KIND_FUNC, 0}};
	struct buf out, text;

	buf_init(&out, 1 << 20);
	buf_init(&text, 1 << 20);
	assert_int_equal(make(&out, number, NR(number)), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		add_text(&text, &out, i, 0);
		buf_addc(&text, '\n');
	}
	assert_string_equal(buf_str(&text), "1 int\n"
					    "4 inner 8 { y@32: 1 int }\n"
					    "4 task 40 { pid@0: 1 int @32: 5  4 { b@0: 1 int } "
					    "in@64: 4 inner 8 { y@32: 1 int } p@128: 2  "
					    "words@224: 8  = 3 [4] }\n");
	assert_int_equal(number[0].number, of_trace);
	assert_int_equal(number[1].number, of_iter);
	assert_int_equal(number[2].number, 0);
	assert_int_equal(number[3].number, 0);
	assert_int_equal(number[0].nr_parameters, 2);
	assert_int_equal(number[1].nr_parameters, 0);
	number[0].number = number[0].nr_parameters = 0; /* without a program */
	assert_int_equal(
	    reduced_types_make(kernel.all.data, kernel.all.len, NULL, 0, number, 1, NULL), 0);
	assert_true(number[0].number == of_trace && number[0].nr_parameters == 2);
	buf_fini(&text);
	buf_fini(&out);
}

/* A copy of its exact length, so that a read beyond it is seen. */
static int make_of(const struct buf *b, size_t len, size_t at, char flip, bool is_kernel)
{
	char *copy = malloc(len ? len : 1);
	struct buf out;
	int rc;

	assert_non_null(copy);
	memcpy(copy, b->data, len);
	if (at < len)
		copy[at] ^= flip;
	buf_init(&out, 1 << 20);
	rc = is_kernel
		 ? reduced_types_make(copy, len, program.all.data, program.all.len, NULL, 0, &out)
		 : reduced_types_make(kernel.all.data, kernel.all.len, copy, len, NULL, 0, &out);
	buf_fini(&out);
	free(copy);
	return rc;
}

TEST(damaged)
{
	const struct buf *of[] = {&program.all, &kernel.all};

	for (size_t k = 0; k < NR(of); k++) {
		for (size_t len = 0; len < of[k]->len; len++)
			assert_int_equal(make_of(of[k], len, len, 0, k), -EINVAL);
		for (size_t at = 0; at < of[k]->len; at++) {
			make_of(of[k], of[k]->len, at, 1, k);
			make_of(of[k], of[k]->len, at, (char)0x80, k);
		}
	}
}

static int make_once(void *arg)
{
	struct buf out;
	int rc;

	(void)arg;
	buf_init(&out, 1 << 20);
	rc = make(&out, NULL, 0);
	buf_fini(&out);
	return rc;
}

TEST(without_memory)
{
	inject_every(make_once, NULL, 6, 0);
}

/* A small part of some megabytes. */
TEST(live)
{
	struct reduced_types_number number = {"btf_trace_sched_switch", BTF_KIND_TYPEDEF, 0};
	struct btf_types types;
	struct buf out;
	int rc = btf_types_open(&root_live, &types);

	if (rc)
		SKIP("the kernel's types: %s", strerror(-rc));
	buf_init(&out, 16 << 20);
	assert_int_equal(reduced_types_make(types.data, types.len, program.all.data,
					    program.all.len, &number, 1, &out),
			 0);
	assert_true(out.len < types.len / 16 && number.number);
	buf_fini(&out);
	btf_types_close(&types);
}
