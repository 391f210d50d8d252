/*
 * Loading the program of interpreted.bpf.c, and its messages.
 */
#include "bpf/interpreted.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/privilege.h"

#include <errno.h>

#include "bpf/loading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/generated/interpreted.h"

struct interpreted {
	struct interpreted_bpf *programs;      /* owned */
	struct ring_buffer *messages;          /* owned */
	const struct interpreted_receiver *to; /* of interpreted_read */
};

/* A definition is as long as what it has of the table of lines. */
static bool is_code(const void *data, size_t bytes)
{
	const struct bpf_interpreted_code *c = data;
	const size_t head = offsetof(struct bpf_interpreted_code, lines);

	return bytes >= head && c->message == BPF_INTERPRETED_CODE &&
	       c->lines_bytes <= bytes - head && c->file.bytes <= sizeof(c->file_text) &&
	       c->name.bytes <= sizeof(c->name_text);
}

static int pass(void *arg, void *data, size_t bytes)
{
	const struct interpreted *i = arg;
	const struct bpf_interpreted_who *who = data;
	const struct bpf_interpreted_far *far = data;

	if (bytes >= sizeof(*far) && far->message == BPF_INTERPRETED_FAR)
		i->to->far(i->to->arg, far);
	else if (bytes >= sizeof(*who) && who->message == BPF_INTERPRETED_WHO)
		i->to->who(i->to->arg, who);
	else if (is_code(data, bytes))
		i->to->code(i->to->arg, data);
	return 0;
}

static int load(struct interpreted *i)
{
	int rc = loading_open(&interpreted_programs, &i->programs)
		     ?: loading_load(i->programs->skeleton);

	if (rc)
		return rc;
	i->messages = ring_buffer__new(bpf_map__fd(i->programs->maps.messages), pass, i, NULL);
	return i->messages ? 0 : -errno;
}

int interpreted_open(struct interpreted **out, struct err *e)
{
	struct interpreted *i = mem_zalloc(sizeof(*i));
	int rc;

	if (!i)
		return err_set(e, -ENOMEM, "out of memory");
	loading_begin();
	rc = load(i);
	if (rc)
		rc = loading_refuse(rc, e);
	loading_end();
	if (rc)
		interpreted_close(i);
	else
		*out = i;
	return rc;
}

void interpreted_close(struct interpreted *i)
{
	if (!i)
		return;
	ring_buffer__free(i->messages);
	loading_close(i->programs);
	mem_free(i);
}

static const struct {
	const char *name;
	bool is_shared;
} maps[] = {{"processes", true},
	    {"threads", true},
	    {"seen", true},
	    {"messages", true},
	    {"rings", true},
	    {"works", false},
	    {"interpreted_stacks", false},
	    {"lasting_work", false}};

static int share(const struct bpf_object *from, const struct bpf_object *to, size_t map)
{
	struct bpf_map *of = bpf_object__find_map_by_name(to, maps[map].name);

	if (!of)
		return -ENOENT;
	if (!from)
		return bpf_map__set_autocreate(of, false);
	return maps[map].is_shared
		   ? bpf_map__reuse_fd(
			 of, bpf_map__fd(bpf_object__find_map_by_name(from, maps[map].name)))
		   : 0;
}

int interpreted_share(const struct interpreted *i, const struct bpf_object *programs)
{
	return ARRAY_RUN(m, ARRAY_NR(maps), share(i ? i->programs->obj : NULL, programs, m));
}

int interpreted_program(const struct interpreted *i)
{
	return bpf_program__fd(i->programs->progs.interpreted);
}

int interpreted_connect(struct interpreted *i, uint32_t cpu, int fd)
{
	return loading_update(i->programs->maps.rings, &cpu, &fd);
}

int interpreted_set(struct interpreted *i, uint32_t process,
		    const struct bpf_interpreted_process *is)
{
	return loading_update(i->programs->maps.processes, &process, is);
}

bool interpreted_find(const struct interpreted *i, uint32_t process,
		      struct bpf_interpreted_process *out)
{
	int rc;

	privilege_raise();
	rc = bpf_map_lookup_elem(bpf_map__fd(i->programs->maps.processes), &process, out);
	privilege_lower();
	return rc == 0;
}

int interpreted_fd(const struct interpreted *i)
{
	return ring_buffer__epoll_fd(i->messages);
}

int interpreted_read(struct interpreted *i, const struct interpreted_receiver *to)
{
	int rc;

	i->to = to;
	rc = ring_buffer__consume(i->messages);
	return rc < 0 ? rc : 0;
}
