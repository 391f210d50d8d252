/*
 * Loading the program of interpreted.bpf.c, and its messages.
 */
#include "bpf/interpreted.h"

#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/privilege.h"

#include <errno.h>
#include <pthread.h>

#include "bpf/loading.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/generated/interpreted.h"

struct interpreted {
	struct interpreted_bpf *programs; /* owned; has the maps */
	struct interpreted_bpf *asking;   /* owned, like walk: share them; NULL: not needed yet */
	struct interpreted_bpf *walk;
	uint32_t languages, tried;             /* that it walks over; that it was to */
	pthread_mutex_t mutex;                 /* of walk, and of the users */
	struct interpreted_user *users;        /* borrowed */
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

/* Which object makes a map: the first one, which loads no program; that which walks; or each one
 * that walks, for itself. */
enum maker { FIRST, WALK, EACH };
static const struct {
	const char *name;
	enum maker maker;
} maps[] = {{"processes", FIRST},        {"messages", FIRST}, {"rings", FIRST},
	    {"threads", WALK},           {"seen", WALK},      {"works", EACH},
	    {"interpreted_stacks", EACH}};

static struct bpf_map *find_map(const struct interpreted_bpf *p, size_t map)
{
	return bpf_object__find_map_by_name(p->obj, maps[map].name);
}

static int share(const struct interpreted *i, const struct bpf_object *to, bool walks, size_t map)
{
	struct bpf_map *of = bpf_object__find_map_by_name(to, maps[map].name);
	const struct interpreted_bpf *from = NULL;
	int rc;

	if (!of)
		return -ENOENT;
	if (!i || (!walks && maps[map].maker != FIRST))
		return bpf_map__set_autocreate(of, false);
	if (maps[map].maker != EACH)
		from = maps[map].maker == FIRST ? i->programs : i->walk;
	rc = bpf_map__set_autocreate(of, true);
	return rc || !from ? rc : bpf_map__reuse_fd(of, bpf_map__fd(find_map(from, map)));
}

int interpreted_share(const struct interpreted *i, const struct bpf_object *programs, bool walks)
{
	return ARRAY_RUN(m, ARRAY_NR(maps), share(i, programs, walks, m));
}

/* The maps alone. */
static int load(struct interpreted *i)
{
	int rc = loading_open(&interpreted_programs, &i->programs);

	for (size_t m = 0; m < ARRAY_NR(maps) && rc == 0; m++)
		rc = bpf_map__set_autocreate(find_map(i->programs, m), maps[m].maker == FIRST);
	rc = rc ?: loading_load(i->programs->skeleton);
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
	pthread_mutex_init(&i->mutex, NULL);
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
	loading_close(i->walk);
	loading_close(i->asking);
	loading_close(i->programs);
	pthread_mutex_destroy(&i->mutex);
	mem_free(i);
}

void interpreted_lock(struct interpreted *i)
{
	if (i)
		pthread_mutex_lock(&i->mutex);
}

void interpreted_unlock(struct interpreted *i)
{
	if (i)
		pthread_mutex_unlock(&i->mutex);
}

void interpreted_add(struct interpreted *i, struct interpreted_user *u)
{
	u->next = i->users;
	i->users = u;
}

void interpreted_remove(struct interpreted *i, const struct interpreted_user *u)
{
	struct interpreted_user **at = &i->users;

	while (*at && *at != u)
		at = &(*at)->next;
	if (*at)
		*at = u->next;
}

uint32_t interpreted_languages(const struct interpreted *i)
{
	return i->languages;
}

int interpreted_walk(const struct interpreted *i)
{
	return i->walk ? bpf_program__fd(i->walk->progs.interpreted_walk) : -1;
}

/* Loads one of the programs. languages: that it walks over; 0: the one that asks. */
static int load_program(const struct interpreted *i, uint32_t languages,
			struct interpreted_bpf **out)
{
	struct interpreted_bpf *p = NULL;
	int rc = loading_open(&interpreted_programs, &p);

	if (rc)
		return rc;
	p->rodata->languages = languages;
	bpf_program__set_autoload(languages ? p->progs.interpreted_walk : p->progs.interpreted,
				  true);
	rc = bpf_map__reuse_fd(p->maps.walks, bpf_map__fd(i->programs->maps.walks))
		 ?: interpreted_share(i, p->obj, languages) ?: loading_load(p->skeleton);
	if (rc)
		loading_close(p);
	else
		*out = p;
	return rc;
}

/* In the place of the one before, whose maps it has. */
static int load_walk(struct interpreted *i, uint32_t languages)
{
	struct interpreted_bpf *before = i->walk, *walk = NULL;
	int rc = load_program(i, languages, &walk), fd;
	const uint32_t first = 0;

	if (rc)
		return rc;
	fd = bpf_program__fd(walk->progs.interpreted_walk);
	rc = bpf_map_update_elem(bpf_map__fd(i->programs->maps.walks), &first, &fd, BPF_ANY);
	if (rc) {
		loading_close(walk);
		return rc;
	}
	i->walk = walk;
	i->languages = languages;
	loading_close(before);
	return 0;
}

/* One that the kernel refuses does not take the others. 0: all are there. */
static int load_languages(struct interpreted *i, uint32_t languages)
{
	const uint32_t new = languages & ~i->languages;
	int rc = load_walk(i, i->languages | new);

	if (rc == 0 || !(new &(new - 1)))
		return rc;
	rc = 0;
	for (uint32_t left = new; left; left &= left - 1)
		rc = load_walk(i, i->languages | (left & -left)) ?: rc;
	return rc;
}

int interpreted_begin(struct interpreted *i, uint32_t languages, struct err *e)
{
	uint32_t before;
	int rc = 0;

	interpreted_lock(i);
	before = i->languages;
	if (languages & ~i->tried) {
		i->tried |= languages;
		loading_begin();
		rc = load_languages(i, languages);
		if (rc)
			rc = loading_refuse(rc, e);
		loading_end();
		for (struct interpreted_user *u = i->users; u && i->languages != before;
		     u = u->next)
			u->begin(u);
	}
	interpreted_unlock(i);
	return rc;
}

int interpreted_program(struct interpreted *i)
{
	loading_begin();
	if (!i->asking)
		(void)load_program(i, 0, &i->asking);
	loading_end();
	return i->asking ? bpf_program__fd(i->asking->progs.interpreted) : -1;
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
