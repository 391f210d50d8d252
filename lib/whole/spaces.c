/*
 * A process is a list of lives, the newest first: from a fork or an exec to the next one. A life
 * has a space, which forks share until one of them maps something. A space has what is mapped now
 * in order of addresses, without overlaps, and beside it what was replaced, for samples that are
 * older.
 *
 * Records of different rings are sorted by time before they are applied: a process may map on one
 * CPU and fork on another.
 */
#include "whole/spaces.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/dict.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/sys.h"
#include "trace/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum {
	MAX_WAITING_BYTES = 64 << 20, /* records between two calls of whole_spaces_apply */
	FIRST_MAPS = 8,               /* for which a list has room: most programs have few */
	MAX_REPLACED = 1024,          /* of a space */
	ASK_NS = 100000000,           /* between two looks for a map of code */
};

/* An object, by what its mappings say of it. */
struct object {
	uint64_t inode, generation;
	uint32_t major, minor;
	uint8_t build_id_len, build_id[TRACE_MAX_BUILD_ID_BYTES], none[3];
	uint32_t path; /* in paths; the end of the key */
	enum unwind_object_kind kind;
	bool has_dump; /* a process that maps it, as struct whole_life's */
	uint32_t pid;  /* that mapped it last, and where */
	uint64_t start, end;
};

_Static_assert(DICT_KEY(struct object, path) == 52, "a key has no holes");

struct map {
	uint64_t start, end, offset, from_ns;
	uint32_t object, prot;
};

struct space {
	unsigned nr_users;
	uint32_t renewed; /* the last time its objects got numbers */
	struct map *map;  /* owned; by address */
	size_t nr, room;
	struct map *replaced; /* owned; in no order */
	size_t nr_replaced, replaced_room;
	bool is_damaged; /* something could not be stored */
};

struct whole_life {
	struct whole_life *before; /* owned; the one before it, of the same process */
	uint32_t pid, first_pid;   /* and that of what it was forked from */
	struct space *space;
	uint64_t from_ns;
	uint64_t ready_ns; /* of an exec: when the kernel had mapped all; UINT64_MAX: not yet */
	uint64_t to_ns;    /* UINT64_MAX: it has not ended */
	bool is_known;     /* its first mappings are known, too */
	bool has_dump;     /* of code made at run time, which has tables; or is a machine of Java */
	uint64_t asked_ns; /* when a map of such code was looked for */
	bool has_map;
};

struct process {
	uint32_t pid; /* the key */
	struct whole_life *life;
};

struct waiting {
	uint64_t time_ns;
	size_t at; /* in records */
	bool is_made;
};

struct whole_spaces {
	struct dict processes; /* struct process */
	struct dict paths;     /* const char * */
	struct dict objects;   /* struct object */
	struct trace_layout layout[2];
	struct buf records;      /* not applied yet */
	struct waiting *waiting; /* owned; of them */
	size_t nr_waiting, waiting_room;
	uint32_t nr_renewed;
	bool is_damaged; /* no memory, or a limit: nothing is known any more */
};

static void init_processes(struct dict *d)
{
	dict_init(d, sizeof(struct process), DICT_KEY(struct process, pid), WHOLE_MAX_PIDS);
}

static void init_objects(struct dict *paths, struct dict *objects)
{
	dict_init_texts(paths, sizeof(const char *), WHOLE_MAX_OBJECTS, WHOLE_MAX_TEXT_BYTES);
	dict_init(objects, sizeof(struct object), DICT_KEY(struct object, path), WHOLE_MAX_OBJECTS);
}

struct whole_spaces *whole_spaces_new(void)
{
	struct whole_spaces *s = mem_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	init_processes(&s->processes);
	init_objects(&s->paths, &s->objects);
	trace_layout_side_band(&s->layout[false], false);
	trace_layout_side_band(&s->layout[true], true);
	buf_init(&s->records, MAX_WAITING_BYTES);
	return s;
}

static void leave_space(struct space *space)
{
	if (!space || --space->nr_users)
		return;
	mem_free(space->map);
	mem_free(space->replaced);
	mem_free(space);
}

static void free_lives(struct whole_life *life)
{
	while (life) {
		struct whole_life *before = life->before;

		leave_space(life->space);
		mem_free(life);
		life = before;
	}
}

void whole_spaces_free(struct whole_spaces *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->processes.nr; i++)
		free_lives(((struct process *)dict_at(&s->processes, i))->life);
	dict_fini(&s->processes);
	dict_fini(&s->paths);
	dict_fini(&s->objects);
	buf_fini(&s->records);
	mem_free(s->waiting);
	mem_free(s);
}

/* ---- spaces */

static struct space *new_space(void)
{
	struct space *space = mem_zalloc(sizeof(*space));

	if (space)
		space->nr_users = 1;
	return space;
}

static bool copy_maps(struct map **to, size_t *nr, size_t *room, const struct map *from, size_t n)
{
	*to = n ? mem_alloc(n * sizeof(**to)) : NULL;
	if (n && !*to)
		return false;
	if (n)
		memcpy(*to, from, n * sizeof(**to));
	*nr = *room = n;
	return true;
}

/* The life's own, which may be changed. NULL: no memory. */
static struct space *own_space(struct whole_life *life)
{
	struct space *from = life->space, *own;

	if (from && from->nr_users == 1)
		return from;
	own = new_space();
	if (!own)
		return NULL;
	if (from && (!copy_maps(&own->map, &own->nr, &own->room, from->map, from->nr) ||
		     !copy_maps(&own->replaced, &own->nr_replaced, &own->replaced_room,
				from->replaced, from->nr_replaced))) {
		leave_space(own);
		return NULL;
	}
	own->is_damaged = from && from->is_damaged;
	leave_space(from);
	life->space = own;
	return own;
}

/* The index of the first one that ends behind the address. */
static size_t first_behind(const struct space *space, uint64_t address)
{
	return ORDER_FIRST(i, space->nr, space->map[i].end > address);
}

/* An uninitialised item behind the others. NULL: no memory. */
static struct map *append(struct map **list, size_t *nr, size_t *room)
{
	if (!*room) {
		*list = mem_alloc(FIRST_MAPS * sizeof(**list));
		*room = *list ? FIRST_MAPS : 0;
	}
	return *room ? MEM_ADD(*list, *nr, *room) : NULL;
}

static void replace(struct space *space, const struct map *m)
{
	struct map *added;

	if (space->nr_replaced == MAX_REPLACED) /* the older half */
		memmove(space->replaced, space->replaced + MAX_REPLACED / 2,
			(space->nr_replaced = MAX_REPLACED / 2) * sizeof(*m));
	added = append(&space->replaced, &space->nr_replaced, &space->replaced_room);
	if (added)
		*added = *m;
	else
		space->is_damaged = true;
}

static void insert_at(struct space *space, size_t i, const struct map *m)
{
	if (space->nr >= WHOLE_MAX_MAPPINGS || !append(&space->map, &space->nr, &space->room)) {
		space->is_damaged = true;
		return;
	}
	memmove(space->map + i + 1, space->map + i, (space->nr - 1 - i) * sizeof(*m));
	space->map[i] = *m;
}

static void remove_at(struct space *space, size_t i)
{
	memmove(space->map + i, space->map + i + 1, (--space->nr - i) * sizeof(space->map[0]));
}

/* What is left of it at and behind an address. */
static struct map part_behind(const struct map *m, uint64_t address)
{
	struct map part = *m;

	part.offset += address - m->start;
	part.start = address;
	return part;
}

/* Takes the room of m from the older one at index i. */
static void make_room(struct space *space, size_t i, const struct map *m)
{
	const struct map old = space->map[i];
	const struct map behind = part_behind(&old, m->end);

	replace(space, &old);
	if (old.start < m->start)
		space->map[i].end = m->start;
	else
		remove_at(space, i);
	if (old.end > m->end)
		insert_at(space, first_behind(space, m->end), &behind);
}

static bool is_same(const struct map *a, const struct map *b)
{
	return a->start == b->start && a->end == b->end && a->offset == b->offset &&
	       a->object == b->object;
}

static void add_map(struct space *space, const struct map *m)
{
	size_t i = first_behind(space, m->start);

	for (size_t k = i; k < space->nr && space->map[k].start < m->end; k++) {
		if (space->map[k].from_ns <= m->from_ns)
			continue;
		/* it is older than what is there */
		if (!is_same(&space->map[k], m))
			replace(space, m);
		else
			space->map[k].from_ns = m->from_ns;
		return;
	}
	while ((i = first_behind(space, m->start)) < space->nr && space->map[i].start < m->end)
		make_room(space, i, m);
	insert_at(space, first_behind(space, m->start), m);
}

static const struct map *find_map(const struct space *space, uint64_t address, uint64_t time_ns)
{
	const struct map *best = NULL;
	size_t i = first_behind(space, address);

	if (i < space->nr && space->map[i].start <= address && space->map[i].from_ns <= time_ns)
		return &space->map[i];
	for (i = 0; i < space->nr_replaced; i++) {
		const struct map *m = &space->replaced[i];

		if (address >= m->start && address < m->end && m->from_ns <= time_ns &&
		    (!best || m->from_ns > best->from_ns))
			best = m;
	}
	return best;
}

/* ---- lives */

static struct whole_life *life_at(const struct whole_spaces *s, uint32_t pid, uint64_t time_ns)
{
	const struct process *p = dict_at(&s->processes, dict_find(&s->processes, &pid));
	struct whole_life *life = p ? p->life : NULL;

	while (life && life->from_ns > time_ns)
		life = life->before;
	return life;
}

/* A life that began then; its space is the caller's to set. NULL: no memory. */
static struct whole_life *begin_life(struct whole_spaces *s, uint32_t pid, uint64_t from_ns)
{
	struct process *p = dict_get(&s->processes, &pid);
	struct whole_life *life = p ? mem_zalloc(sizeof(*life)) : NULL, **at;

	s->is_damaged |= !life;
	if (!life)
		return NULL;
	life->from_ns = from_ns;
	life->to_ns = UINT64_MAX;
	life->pid = life->first_pid = pid;
	for (at = &p->life; *at && (*at)->from_ns > from_ns; at = &(*at)->before)
		continue;
	life->before = *at;
	*at = life;
	return life;
}

/* Of a process that was not known before. */
static struct whole_life *any_life(struct whole_spaces *s, uint32_t pid, uint64_t time_ns)
{
	struct whole_life *life = life_at(s, pid, time_ns);

	return life ? life : begin_life(s, pid, 0);
}

static void apply_fork(struct whole_spaces *s, const struct trace_record *r)
{
	struct whole_life *parent, *life;

	if (r->pid == r->ppid) /* a thread */
		return;
	parent = any_life(s, r->ppid, r->time_ns);
	life = parent ? begin_life(s, r->pid, r->time_ns) : NULL;
	if (!life)
		return;
	if (!parent->space)
		parent->space = new_space();
	life->space = parent->space;
	if (life->space)
		life->space->nr_users++;
	life->is_known = parent->is_known;
	life->has_dump = parent->has_dump;
	life->first_pid = parent->first_pid;
	life->ready_ns = parent->ready_ns;
}

static void apply_exec(struct whole_spaces *s, const struct trace_record *r)
{
	struct whole_life *life = begin_life(s, r->pid, r->time_ns);

	if (!life)
		return;
	life->is_known = true;
	life->ready_ns = UINT64_MAX;
}

static void apply_exit(struct whole_spaces *s, const struct trace_record *r)
{
	struct whole_life *life = life_at(s, r->pid, r->time_ns);

	if (life && r->pid == r->tid) /* other threads may live on: it is only a hint */
		life->to_ns = r->time_ns;
}

/* ---- objects; the same rules as profile/objects.c */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool is_memory(const char *path)
{
	static const char *const names[] = {"//",    "/memfd:",   "/dev/zero", "/anon_hugepage",
					    "/SYSV", "/dev/shm/", "/i915",     "/drm mm object"};

	return *path != '/' || ARRAY_ANY(x, names, ARRAY_NR(names), begins(path, *x));
}

static enum unwind_object_kind kind_of(const struct trace_record *r)
{
	if (strcmp(r->name, "[vdso]") == 0)
		return UNWIND_OBJECT_VDSO;
	return !r->build_id_len && is_memory(r->name) ? UNWIND_OBJECT_MEMORY : UNWIND_OBJECT_FILE;
}

/* jit-PID.dump, which is mapped to say that it is there. */
static bool is_dump(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && begins(name, "/jit-") && strstr(name, ".dump");
}

/* Of Java, whose code has frames that a reader knows. */
static bool is_machine(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && begins(name, "/libjvm.so");
}

/* Its number is objects.last. NULL: there is no room. */
static const struct object *add_object(struct whole_spaces *s, const struct trace_record *r)
{
	const uint32_t nr = s->objects.nr;
	struct object key = {.inode = r->inode,
			     .generation = r->inode_generation,
			     .major = r->major,
			     .minor = r->minor,
			     .build_id_len = (uint8_t)r->build_id_len,
			     .path = dict_add(&s->paths, r->name)},
		      *o;

	memcpy(key.build_id, r->build_id, r->build_id_len);
	if (key.path == DICT_NONE)
		return NULL;
	o = dict_get(&s->objects, &key);
	if (!o)
		return NULL;
	if (s->objects.nr > nr) { /* these follow from the key */
		o->kind = kind_of(r);
		o->has_dump = is_dump(r->name) || is_machine(r->name);
	}
	o->pid = r->pid;
	o->start = r->start;
	o->end = r->start + r->length;
	return o;
}

static void apply_map(struct whole_spaces *s, const struct trace_record *r, bool is_made)
{
	struct whole_life *life = any_life(s, r->pid, r->time_ns);
	struct space *space = life ? own_space(life) : NULL;
	struct map m = {.start = r->start,
			.end = r->start + r->length,
			.offset = r->offset,
			.from_ns = is_made && life ? life->from_ns : r->time_ns,
			.prot = r->kind == PERF_RECORD_MMAP2 ? r->prot : PROT_EXEC};
	const struct object *o;

	if (!space || m.end <= m.start) {
		s->is_damaged |= !space;
		return;
	}
	o = add_object(s, r);
	if (!o) {
		space->is_damaged = true;
		return;
	}
	m.object = s->objects.last;
	life->is_known |= is_made;
	life->has_dump |= o->has_dump;
	add_map(space, &m);
	if (life->ready_ns == UINT64_MAX && (is_made || strcmp(r->name, "[vdso]") == 0))
		life->ready_ns = r->time_ns;
}

void whole_spaces_lose(struct whole_spaces *s)
{
	for (uint32_t i = 0; i < s->processes.nr; i++)
		for (struct whole_life *life = ((struct process *)dict_at(&s->processes, i))->life;
		     life; life = life->before)
			life->is_known = false;
}

/* ---- records */

static void apply(struct whole_spaces *s, const struct waiting *w)
{
	struct trace_record r;

	if (trace_record_decode(&s->layout[w->is_made], (const uint8_t *)s->records.data + w->at,
				s->records.len - w->at, &r))
		return;
	switch (r.kind) {
	case PERF_RECORD_FORK:
		if (!w->is_made) /* the survey reads the mappings of each */
			apply_fork(s, &r);
		break;
	case PERF_RECORD_COMM:
		if (!w->is_made && r.misc & PERF_RECORD_MISC_COMM_EXEC)
			apply_exec(s, &r);
		break;
	case PERF_RECORD_EXIT:
		apply_exit(s, &r);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		apply_map(s, &r, w->is_made);
		break;
	case PERF_RECORD_LOST:
		whole_spaces_lose(s);
		break;
	default:
		break;
	}
}

/* The last word is the time: of every record, TID and TIME are at its end. */
static uint64_t time_of(const uint8_t *p, size_t size)
{
	return size >= 24 ? trace_word(p + size - 8, 0) : 0;
}

void whole_spaces_add(struct whole_spaces *s, const void *records, size_t len, bool is_made)
{
	const uint8_t *p = records;
	size_t base = s->records.len, size;
	uint32_t kind;

	buf_add(&s->records, records, len);
	s->is_damaged |= buf_error(&s->records) != 0;
	if (s->is_damaged)
		return;
	for (size_t at = 0; at < len; at += size) {
		struct waiting *w;

		size = trace_record_size(p + at, len - at, &kind);
		if (!size)
			break;
		w = MEM_ADD(s->waiting, s->nr_waiting, s->waiting_room);
		s->is_damaged |= !w;
		if (!w)
			return;
		*w = (struct waiting){time_of(p + at, size), base + at, is_made};
	}
}

static int compare(const void *a, const void *b)
{
	const struct waiting *x = a, *y = b;
	int order = order_u64(x->time_ns, y->time_ns);

	return order ? order : order_u64(x->at, y->at);
}

void whole_spaces_apply(struct whole_spaces *s)
{
	if (!s->nr_waiting)
		return;
	order_sort(s->waiting, s->nr_waiting, sizeof(*s->waiting), compare);
	for (size_t i = 0; i < s->nr_waiting && !s->is_damaged; i++)
		apply(s, &s->waiting[i]);
	s->nr_waiting = 0;
	buf_reset(&s->records);
}

const struct whole_life *whole_spaces_find(const struct whole_spaces *s, uint32_t pid,
					   uint64_t time_ns)
{
	const struct whole_life *life = s->is_damaged ? NULL : life_at(s, pid, time_ns);

	return life && life->is_known && life->space && !life->space->is_damaged &&
		       time_ns >= life->ready_ns
		   ? life
		   : NULL;
}

static bool find_mapping(void *arg, const void *process, uint64_t address, uint64_t time_ns,
			 struct unwind_mapping *out)
{
	const struct whole_spaces *s = arg;
	const struct whole_life *life = process;
	const struct map *m = find_map(life->space, address, time_ns);

	if (!m)
		return false;
	*out = (struct unwind_mapping){
	    .start = m->start,
	    .offset = m->offset,
	    .prot = m->prot,
	    .object = m->object,
	    .kind = ((const struct object *)dict_at(&s->objects, m->object))->kind,
	    .of = dict_at(&s->objects, m->object)};
	return true;
}

static void want_file(void *arg, const struct unwind_mapping *m, struct unwind_file *out)
{
	const struct whole_spaces *s = arg;
	const struct object *o = m->of;

	*out = (struct unwind_file){.path = dict_text(&s->paths, o->path),
				    .build_id = o->build_id,
				    .build_id_len = o->build_id_len,
				    .major = o->major,
				    .minor = o->minor,
				    .inode = o->inode};
}

static bool is_map_there(uint32_t pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	return sys()->fstatat(AT_FDCWD, path, &st, 0) == 0;
}

/* A compiler at run time may write a map of its code. That of Python has trampolines with frames of
 * their own, which a reader knows by their names. */
static bool has_map(struct whole_life *life)
{
	const uint64_t now_ns = clock_monotonic_ns();

	if (life->asked_ns && now_ns < life->asked_ns + ASK_NS)
		return life->has_map;
	life->asked_ns = now_ns;
	life->has_map = is_map_there(life->pid) || is_map_there(life->first_pid);
	return life->has_map;
}

/* Code that was made at run time, as a reader does where it has no table of it. The life is that of
 * whole_spaces_find. */
static bool may_guess(void *arg, const void *process, const struct unwind_mapping *m)
{
	struct whole_life *life = (struct whole_life *)process;

	(void)arg;
	return m && m->kind == UNWIND_OBJECT_MEMORY && !life->has_dump && !has_map(life);
}

struct unwind_maps whole_spaces_maps(struct whole_spaces *s)
{
	return (struct unwind_maps){
	    .find = find_mapping, .want = want_file, .may_guess = may_guess, .arg = s};
}

bool whole_spaces_holder(const struct whole_spaces *s, const char *path, uint64_t inode,
			 uint32_t *pid, uint64_t *start, uint64_t *end)
{
	const struct object *o = NULL;

	for (uint32_t i = 0; i < s->objects.nr && !o; i++) {
		const struct object *one = dict_at(&s->objects, i);

		if (one->inode == inode && strcmp(dict_text(&s->paths, one->path), path) == 0)
			o = one;
	}
	if (!o)
		return false;
	*pid = o->pid;
	*start = o->start;
	*end = o->end;
	return true;
}

/* The newest life of a process that has not ended stays. */
static void forget(struct process *p, uint64_t before_ns)
{
	struct whole_life *life = p->life;

	if (life && life->to_ns < before_ns) {
		p->life = NULL;
		free_lives(life);
		return;
	}
	while (life && life->from_ns >= before_ns)
		life = life->before;
	if (!life)
		return;
	free_lives(life->before);
	life->before = NULL;
}

/* A dict forgets nothing: the processes that are left go into a new one. */
static void remove_forgotten(struct whole_spaces *s)
{
	struct dict left;

	init_processes(&left);
	for (uint32_t i = 0; i < s->processes.nr; i++) {
		const struct process *p = dict_at(&s->processes, i);
		struct process *kept = p->life ? dict_get(&left, &p->pid) : NULL;

		if (p->life && !kept) { /* no memory: another time */
			dict_fini(&left);
			return;
		}
		if (kept)
			kept->life = p->life;
	}
	dict_fini(&s->processes);
	s->processes = left;
}

void whole_spaces_forget(struct whole_spaces *s, uint64_t before_ns)
{
	size_t nr_left = 0;

	for (uint32_t i = 0; i < s->processes.nr; i++) {
		struct process *p = dict_at(&s->processes, i);

		forget(p, before_ns);
		nr_left += p->life != NULL;
	}
	if (s->processes.nr > 1024 && nr_left < s->processes.nr / 2)
		remove_forgotten(s);
}

/* ---- numbers of objects */

bool whole_spaces_is_low(const struct whole_spaces *s)
{
	return s->objects.nr > WHOLE_MAX_OBJECTS / 2 ||
	       s->paths.texts.used_bytes > WHOLE_MAX_TEXT_BYTES / 2;
}

struct renewal {
	struct whole_spaces *s;
	struct dict paths, objects; /* the new ones */
	uint32_t *number;           /* owned; by the old one; DICT_NONE: it has none yet */
	bool has_failed;
};

static void add_used(struct renewal *r, struct map *m)
{
	const struct object *old = dict_at(&r->s->objects, m->object);
	struct object copy = *old, *o;

	if (r->number[m->object] != DICT_NONE || r->has_failed)
		return;
	copy.path = dict_add(&r->paths, dict_text(&r->s->paths, old->path));
	o = copy.path == DICT_NONE ? NULL : dict_get(&r->objects, &copy);
	r->has_failed = !o;
	if (!o)
		return;
	*o = copy;
	r->number[m->object] = r->objects.last;
}

static void set_number(struct renewal *r, struct map *m)
{
	m->object = r->number[m->object];
}

static void each_map(struct renewal *r, void (*fn)(struct renewal *r, struct map *m))
{
	struct whole_spaces *s = r->s;

	s->nr_renewed++; /* forks share spaces */
	for (uint32_t i = 0; i < s->processes.nr; i++)
		for (struct whole_life *life = ((struct process *)dict_at(&s->processes, i))->life;
		     life; life = life->before) {
			struct space *space = life->space;

			if (!space || space->renewed == s->nr_renewed)
				continue;
			space->renewed = s->nr_renewed;
			for (size_t k = 0; k < space->nr; k++)
				fn(r, &space->map[k]);
			for (size_t k = 0; k < space->nr_replaced; k++)
				fn(r, &space->replaced[k]);
		}
}

void whole_spaces_renew(struct whole_spaces *s)
{
	struct renewal r = {.s = s};

	r.number = s->objects.nr ? mem_alloc(s->objects.nr * sizeof(*r.number)) : NULL;
	if (!r.number)
		return;
	memset(r.number, 0xff, s->objects.nr * sizeof(*r.number));
	init_objects(&r.paths, &r.objects);
	each_map(&r, add_used);
	if (!r.has_failed) {
		each_map(&r, set_number);
		dict_fini(&s->paths);
		dict_fini(&s->objects);
		s->paths = r.paths;
		s->objects = r.objects;
	} else {
		dict_fini(&r.paths);
		dict_fini(&r.objects);
	}
	mem_free(r.number);
}
