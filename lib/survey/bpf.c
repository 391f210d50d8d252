/*
 * Walks the loaded programs by id. Composes the names of their functions as the kernel does.
 */
#include "survey/bpf.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/mem.h"
#include "survey/btf.h"
#include "survey/ops.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAME_BYTES = 512 }; /* KSYM_NAME_LEN of Linux 6.1 */

/* What the kernel reports of a program. */
struct program {
	struct bpf_prog_info info;
	uint64_t address[SURVEY_MAX_FUNCTIONS];
	uint32_t len[SURVEY_MAX_FUNCTIONS];
	uint8_t tag[SURVEY_MAX_FUNCTIONS][BPF_TAG_SIZE];
	struct bpf_func_info func[SURVEY_MAX_FUNCTIONS];
};

struct programs {
	struct program program;
	uint32_t btf_id; /* whose types btf holds; 0: none */
	struct buf btf;
	int (*fn)(const struct survey_function *f, void *arg);
	void *arg;
	struct survey_bpf out;
};

static int call(int cmd, union bpf_attr *attr)
{
	return survey_ops()->bpf(cmd, attr, sizeof(*attr));
}

/* -errno; the kernel fills in as much as it can. */
static int get_info(int fd, void *info, uint32_t len)
{
	union bpf_attr attr = {0};

	attr.info.bpf_fd = (uint32_t)fd;
	attr.info.info_len = len;
	attr.info.info = (uintptr_t)info;
	return call(BPF_OBJ_GET_INFO_BY_FD, &attr);
}

static int open_object(int cmd, uint32_t id)
{
	union bpf_attr attr = {0};

	attr.prog_id = id; /* a union with btf_id */
	return call(cmd, &attr);
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Asks twice: first for the lengths of the lists, then for the lists. */
static int load_program(int fd, struct program *p)
{
	struct bpf_prog_info lengths = {0};
	int rc = get_info(fd, &lengths, sizeof(lengths));

	if (rc)
		return rc;
	p->info = (struct bpf_prog_info){
	    .nr_jited_ksyms = least(lengths.nr_jited_ksyms, SURVEY_MAX_FUNCTIONS),
	    .nr_jited_func_lens = least(lengths.nr_jited_func_lens, SURVEY_MAX_FUNCTIONS),
	    .nr_prog_tags = least(lengths.nr_prog_tags, SURVEY_MAX_FUNCTIONS),
	    .jited_ksyms = (uintptr_t)p->address,
	    .jited_func_lens = (uintptr_t)p->len,
	    .prog_tags = (uintptr_t)p->tag,
	};
	if (lengths.func_info_rec_size == sizeof(p->func[0])) {
		p->info.nr_func_info = least(lengths.nr_func_info, SURVEY_MAX_FUNCTIONS);
		p->info.func_info_rec_size = sizeof(p->func[0]);
		p->info.func_info = (uintptr_t)p->func;
	}
	return get_info(fd, &p->info, sizeof(p->info));
}

static void note_failure(struct programs *s, int rc)
{
	if (rc == -EPERM || rc == -EACCES)
		s->out.nr_denied++;
	else if (rc != -ENOENT) /* unloaded meanwhile */
		s->out.has_failed = true;
}

/* One copy is enough: programs of one file share their types, and their ids are consecutive. */
static int load_btf(struct programs *s, uint32_t id)
{
	IO_AUTO_FD int fd = open_object(BPF_BTF_GET_FD_BY_ID, id);
	struct bpf_btf_info info = {0};
	int rc = fd < 0 ? fd : get_info(fd, &info, sizeof(info));

	s->btf_id = 0;
	buf_reset(&s->btf);
	if (rc)
		return rc;
	info = (struct bpf_btf_info){.btf_size = info.btf_size};
	info.btf = (uintptr_t)buf_reserve(&s->btf, info.btf_size);
	if (!info.btf)
		return buf_error(&s->btf);
	rc = get_info(fd, &info, sizeof(info));
	if (rc)
		return rc;
	s->btf.len = least(info.btf_size, (uint32_t)s->btf.cap);
	s->btf_id = id;
	return 0;
}

/* The name of function i in the program's source; NULL: the kernel does not report it. */
static const char *find_name(struct programs *s, uint32_t i)
{
	const struct program *p = &s->program;
	uint32_t id = p->info.btf_id;
	int rc;

	if (!id || i >= least(p->info.nr_func_info, SURVEY_MAX_FUNCTIONS) || !p->info.func_info)
		return NULL;
	rc = id != s->btf_id ? load_btf(s, id) : 0;
	if (rc) {
		note_failure(s, rc);
		return NULL;
	}
	return survey_btf_name(s->btf.data, s->btf.len, p->func[i].type_id);
}

/* bpf_prog_TAG_NAME. Without BTF the first function has the program's name, the others "F". */
static void make_name(struct programs *s, uint32_t i, char name[MAX_NAME_BYTES])
{
	const struct bpf_prog_info *info = &s->program.info;
	const uint8_t *tag = i ? s->program.tag[i] : info->tag;
	const char *own = find_name(s, i);
	int at = snprintf(name, MAX_NAME_BYTES, "bpf_prog_");

	for (int k = 0; k < BPF_TAG_SIZE; k++)
		at += snprintf(name + at, MAX_NAME_BYTES - (size_t)at, "%02x", tag[k]);
	if (own)
		snprintf(name + at, MAX_NAME_BYTES - (size_t)at, "_%s", own);
	else if (i)
		snprintf(name + at, MAX_NAME_BYTES - (size_t)at, "_F");
	else if (info->name[0])
		snprintf(name + at, MAX_NAME_BYTES - (size_t)at, "_%.*s", BPF_OBJ_NAME_LEN,
			 info->name);
}

/* Returns what fn returned. */
static int visit(struct programs *s, uint32_t id)
{
	IO_AUTO_FD int fd = open_object(BPF_PROG_GET_FD_BY_ID, id);
	const struct program *p = &s->program;
	int rc = fd < 0 ? fd : load_program(fd, &s->program);
	char name[MAX_NAME_BYTES];
	uint32_t nr = 0;

	if (rc) {
		note_failure(s, rc);
		return 0;
	}
	/* the kernel clears the pointers if it may not show addresses */
	if (p->info.jited_ksyms && p->info.jited_func_lens)
		nr = least(least(p->info.nr_jited_ksyms, p->info.nr_jited_func_lens),
			   SURVEY_MAX_FUNCTIONS);
	for (uint32_t i = 0; i < nr && rc == 0; i++) {
		struct survey_function f = {p->address[i], p->len[i], name};

		if (!f.address || !f.len) /* not compiled */
			continue;
		make_name(s, i, name);
		rc = s->fn(&f, s->arg);
	}
	return rc;
}

/* -ENOENT: there are no more. */
static int next_program(uint32_t *id)
{
	union bpf_attr attr = {.start_id = *id};
	int rc = call(BPF_PROG_GET_NEXT_ID, &attr);

	if (rc)
		return rc;
	if (attr.next_id <= *id)
		return -EINVAL; /* never from Linux; ensures that the walk ends */
	*id = attr.next_id;
	return 0;
}

static int visit_all(struct programs *s)
{
	uint32_t id = 0;
	int rc = next_program(&id), ended = 0;

	if (rc && rc != -ENOENT)
		return rc;
	for (uint32_t nr = 0; rc == 0 && ended == 0 && !s->out.is_full; nr++) {
		ended = visit(s, id);
		rc = next_program(&id);
		s->out.is_full = rc == 0 && nr + 1 == SURVEY_MAX_PROGRAMS;
	}
	if (rc)
		note_failure(s, rc);
	return ended;
}

int survey_bpf_each(int (*fn)(const struct survey_function *f, void *arg), void *arg,
		    struct survey_bpf *out)
{
	struct programs *s = mem_zalloc(sizeof(*s));
	int rc;

	if (!s)
		return -ENOMEM;
	s->fn = fn;
	s->arg = arg;
	buf_init(&s->btf, SURVEY_MAX_BTF_BYTES);
	rc = visit_all(s);
	if (rc == 0)
		*out = s->out;
	buf_fini(&s->btf);
	mem_free(s);
	return rc;
}
