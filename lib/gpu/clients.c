/*
 * Clients by device and number, and what they add up to.
 */
#include "gpu/clients.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/str.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BIT(n) (1u << (n))

enum { MAX_NOTES_BYTES = 64 << 10 };

static const struct process_reader *const reader = &process_proc_reader;

static const struct gpu_client_maker *const all_makers[] = {&gpu_drm_maker, &gpu_nvidia_maker};
_Static_assert(ARRAY_NR(all_makers) <= GPU_CLIENTS_MAX_MAKERS, "makers");

/* A maker that found a GPU. */
struct maker {
	const struct gpu_client_maker *is;
	void *state;
};

struct device {
	char name[GPU_CLIENTS_DEVICE_BYTES];
	uint64_t max_id, max_id_before; /* up to this reading, and up to the one before */
	bool has_max, had_max;
};

/* What a client used of an engine. */
struct use {
	uint32_t engine; /* its index */
	uint32_t has;    /* bits of GPU_FDINFO_NS and GPU_FDINFO_CYCLES */
	uint64_t of[2];  /* the most that was read */
};

struct client {
	uint32_t device;
	uint64_t id;
	uint32_t process, pid, place;
	struct use *uses; /* owned */
	size_t nr_uses, uses_room;
	bool is_seen;
};

struct gpu_clients {
	unsigned nr_owners;
	struct root root;
	void *proc;
	struct maker makers[GPU_CLIENTS_MAX_MAKERS];
	size_t nr_makers;
	uint64_t round, time_ns, time_before_ns;
	int result;                                      /* of the last reading */
	bool is_read;                                    /* a reading succeeded before */
	bool is_due;                                     /* what was read is of another moment */
	struct device *devices[GPU_CLIENTS_MAX_DEVICES]; /* owned */
	size_t nr_devices;
	struct client *list; /* by device and number; new ones at the end, until sorted */
	size_t nr, room, nr_sorted;
	struct gpu_engine *engines;
	size_t nr_engines, engines_room;
	struct gpu_process *processes; /* by number of the process, ascending */
	size_t nr_processes, processes_room;
	uint32_t next_number;
	bool is_full_noted;
	struct buf notes;
	size_t note_at;
};

/* ---- notes */

void gpu_clients_note(struct gpu_clients *c, const char *fmt, ...)
{
	size_t start = c->notes.len;
	va_list ap;

	va_start(ap, fmt);
	buf_vprintf(&c->notes, fmt, ap);
	va_end(ap);
	if (c->notes.len > start)
		str_disarm(c->notes.data + start);
	buf_addc(&c->notes, '\0');
}

const char *gpu_clients_next_note(struct gpu_clients *c)
{
	const char *note;

	if (c->note_at >= c->notes.len) {
		buf_reset(&c->notes);
		c->note_at = 0;
		return NULL;
	}
	note = c->notes.data + c->note_at;
	c->note_at += strlen(note) + 1;
	return note;
}

static void note_full(struct gpu_clients *c, const char *what)
{
	if (!c->is_full_noted)
		gpu_clients_note(c, "GPUs have more %s than can be read: the others are ignored",
				 what);
	c->is_full_noted = true;
}

/* ---- devices, engines, processes */

/* NULL: out of memory, or *is_full. */
static struct device *find_device(struct gpu_clients *c, const char *name, uint32_t *index,
				  bool *is_full)
{
	char cleaned[GPU_CLIENTS_DEVICE_BYTES];
	struct device *d;

	snprintf(cleaned, sizeof(cleaned), "%s", name);
	str_clean(cleaned, strlen(cleaned));
	for (*index = 0; *index < c->nr_devices; ++*index)
		if (strcmp(c->devices[*index]->name, cleaned) == 0)
			return c->devices[*index];
	*is_full = c->nr_devices == GPU_CLIENTS_MAX_DEVICES;
	d = *is_full ? NULL : mem_zalloc(sizeof(*d));
	if (!d)
		return NULL;
	memcpy(d->name, cleaned, sizeof(d->name));
	return c->devices[c->nr_devices++] = d;
}

/* NULL: out of memory, or *is_full. */
static struct gpu_engine *find_engine(struct gpu_clients *c, const char *device, const char *own,
				      bool *is_full)
{
	struct gpu_engine *e = ARRAY_FIND(x, c->engines, c->nr_engines,
					  x->device == device && strcmp(x->own, own) == 0);

	*is_full = !e && c->nr_engines == GPU_CLIENTS_MAX_ENGINES;
	if (e || *is_full)
		return e;
	e = MEM_ADD(c->engines, c->nr_engines, c->engines_room);
	if (!e)
		return NULL;
	*e = (struct gpu_engine){.device = device,
				 .number = (uint32_t)(e - c->engines),
				 .born_ns = c->is_read ? c->time_ns : 0};
	snprintf(e->own, sizeof(e->own), "%s", own);
	snprintf(e->name, sizeof(e->name), "%s %s", device, own);
	str_clean(e->name, strlen(e->name));
	return e;
}

/* Makers pass processes in order: the place is found at once. NULL: out of memory. */
static struct gpu_process *find_process(struct gpu_clients *c, uint32_t pid)
{
	size_t at = ORDER_FIRST(i, c->nr_processes, c->processes[i].pid >= pid);
	struct gpu_process *p;

	if (at < c->nr_processes && c->processes[at].pid == pid)
		return &c->processes[at];
	if (!MEM_ADD(c->processes, c->nr_processes, c->processes_room))
		return NULL;
	p = &c->processes[at];
	memmove(p + 1, p, (c->nr_processes - 1 - at) * sizeof(*p));
	*p = (struct gpu_process){
	    .pid = pid, .number = c->next_number++, .born_ns = c->is_read ? c->time_ns : 0};
	return p;
}

/* ---- clients */

static void add_up(uint64_t *sum, uint64_t n)
{
	if (__builtin_add_overflow(*sum, n, sum))
		*sum = UINT64_MAX;
}

static int compare(const struct client *a, uint32_t device, uint64_t id)
{
	return order_u64(a->device, device) ?: order_u64(a->id, id);
}

static struct client *find_client(const struct gpu_clients *c, uint32_t device, uint64_t id)
{
	size_t at = ORDER_FIRST(i, c->nr_sorted, compare(&c->list[i], device, id) >= 0);

	if (at < c->nr_sorted && compare(&c->list[at], device, id) == 0)
		return &c->list[at];
	return ARRAY_FIND(x, c->list + c->nr_sorted, c->nr - c->nr_sorted,
			  compare(x, device, id) == 0);
}

static struct use *find_use(struct client *client, uint32_t engine)
{
	struct use *u = ARRAY_FIND(x, client->uses, client->nr_uses, x->engine == engine);

	if (!u && (u = MEM_ADD(client->uses, client->nr_uses, client->uses_room)))
		*u = (struct use){.engine = engine};
	return u;
}

/* What it grew by: a lower value than before is none (the driver catches up later). */
static uint64_t grow(struct use *u, const struct gpu_fdinfo_engine *now, int which, bool is_late)
{
	uint64_t before = u->of[which], value = now->of[which];
	bool is_first = !(u->has & BIT(which));

	if (!(now->has & BIT(which)) || value < before)
		return 0;
	u->of[which] = value;
	u->has |= BIT(which);
	return is_first && is_late ? 0 : value - before;
}

/* What is the same for all clients of the engine, or may differ a little. */
static void add_facts(struct gpu_engine *e, const struct gpu_fdinfo_engine *now)
{
	static const struct {
		enum gpu_fdinfo_of_engine from;
		enum gpu_engine_field to;
	} facts[] = {{GPU_FDINFO_MAX_HZ, GPU_ENGINE_MAX_FREQUENCY},
		     {GPU_FDINFO_HZ, GPU_ENGINE_FREQUENCY}};

	for (size_t i = 0; i < ARRAY_NR(facts); i++) {
		if (!(now->has & BIT(facts[i].from)))
			continue;
		e->values[facts[i].to] = now->of[facts[i].from];
		e->has |= BIT(facts[i].to);
	}
	if (now->of[GPU_FDINFO_CAPACITY] > e->values[GPU_ENGINE_CAPACITY])
		e->values[GPU_ENGINE_CAPACITY] = now->of[GPU_FDINFO_CAPACITY];
	if (now->has & BIT(GPU_FDINFO_TOTAL_CYCLES)) {
		if (!e->has_total || now->of[GPU_FDINFO_TOTAL_CYCLES] > e->total)
			e->total = now->of[GPU_FDINFO_TOTAL_CYCLES];
		e->has_total = true;
	}
	e->has |= BIT(GPU_ENGINE_CAPACITY) | BIT(GPU_ENGINE_CLIENTS);
	e->values[GPU_ENGINE_CLIENTS]++;
}

static int add_use(struct gpu_clients *c, struct client *client, struct gpu_process *p,
		   const struct gpu_fdinfo_engine *now, bool is_late)
{
	bool is_full = false;
	struct gpu_engine *e =
	    find_engine(c, c->devices[client->device]->name, now->name, &is_full);
	struct use *u = e ? find_use(client, (uint32_t)(e - c->engines)) : NULL;
	uint64_t ns, cycles;

	if (is_full)
		note_full(c, "engines");
	if (!u)
		return is_full ? 0 : -ENOMEM;
	ns = grow(u, now, GPU_FDINFO_NS, is_late);
	cycles = grow(u, now, GPU_FDINFO_CYCLES, is_late);
	add_up(&e->grown_ns, ns);
	add_up(&p->grown_ns, ns);
	add_up(&e->grown_cycles, cycles);
	add_up(&p->grown_cycles, cycles);
	if (u->has & BIT(GPU_FDINFO_NS)) {
		e->has |= BIT(GPU_ENGINE_BUSY_TIME);
		p->has |= BIT(GPU_PROCESS_BUSY_TIME);
	}
	if (u->has & BIT(GPU_FDINFO_CYCLES)) {
		e->has |= BIT(GPU_ENGINE_BUSY_CYCLES);
		p->has |= BIT(GPU_PROCESS_BUSY_CYCLES);
	}
	e->nr_missed += is_late;
	add_facts(e, now);
	return 0;
}

static void add_memory(struct gpu_process *p, const struct gpu_client *client)
{
	if (client->has_memory) {
		add_up(&p->values[GPU_PROCESS_MEMORY], client->memory);
		p->has |= BIT(GPU_PROCESS_MEMORY);
	}
	if (client->has_memory_machine) {
		add_up(&p->values[GPU_PROCESS_MEMORY_MACHINE], client->memory_machine);
		p->has |= BIT(GPU_PROCESS_MEMORY_MACHINE);
	}
	if (client->has_busy) {
		add_up(&p->values[GPU_PROCESS_BUSY], client->busy);
		p->has |= BIT(GPU_PROCESS_BUSY);
	}
	p->values[GPU_PROCESS_CLIENTS]++;
	p->has |= BIT(GPU_PROCESS_CLIENTS);
}

/* 0; 1: there are too many; -ENOMEM. */
static int add_client(struct gpu_clients *c, uint32_t device, uint64_t id, struct client **out)
{
	if (c->nr == GPU_CLIENTS_MAX) {
		note_full(c, "clients");
		return 1;
	}
	*out = MEM_ADD(c->list, c->nr, c->room);
	if (!*out)
		return -ENOMEM;
	**out = (struct client){.device = device, .id = id};
	return 0;
}

int gpu_clients_add(struct gpu_clients *c, const struct gpu_client *now)
{
	bool is_full = false, is_late, is_known;
	struct gpu_process *p;
	struct client *client;
	struct device *d;
	uint32_t device;
	int rc = 0;

	d = find_device(c, now->device, &device, &is_full);
	if (is_full)
		note_full(c, "devices");
	if (!d)
		return is_full ? 0 : -ENOMEM;
	client = find_client(c, device, now->id);
	is_known = client != NULL;
	if (is_known && client->is_seen) /* through another descriptor */
		return 0;
	rc = is_known ? 0 : add_client(c, device, now->id, &client);
	if (rc)
		return rc < 0 ? rc : 0;
	p = find_process(c, now->process);
	if (!p)
		return -ENOMEM;
	is_late = !is_known && c->is_read && d->had_max && now->id <= d->max_id_before;
	if (!d->has_max || now->id > d->max_id)
		d->max_id = now->id;
	d->has_max = client->is_seen = p->is_seen = true;
	p->nr_kept += is_known && client->process == now->process;
	p->nr_missed += is_late;
	client->process = now->process;
	client->pid = now->pid;
	client->place = now->place;
	for (size_t i = 0; i < now->nr_engines && rc == 0; i++)
		rc = add_use(c, client, p, &now->engines[i], is_late);
	add_memory(p, now);
	return rc;
}

int gpu_clients_fail(struct gpu_clients *c, uint32_t process, uint32_t pid, uint32_t place,
		     int error)
{
	struct gpu_process *p = find_process(c, process);

	if (!p)
		return -ENOMEM;
	p->is_seen = true;
	p->error = error;
	for (size_t i = 0; i < c->nr; i++) {
		struct client *client = &c->list[i];

		if (client->pid != pid || client->place != place || client->process != process)
			continue;
		p->nr_kept += !client->is_seen;
		client->is_seen = true;
	}
	return 0;
}

/* ---- a reading */

static void begin(struct gpu_clients *c)
{
	c->time_before_ns = c->time_ns;
	c->time_ns = clock_monotonic_ns();
	for (size_t i = 0; i < c->nr_devices; i++) {
		c->devices[i]->max_id_before = c->devices[i]->max_id;
		c->devices[i]->had_max = c->devices[i]->has_max;
	}
	for (size_t i = 0; i < c->nr; i++)
		c->list[i].is_seen = false;
	for (size_t i = 0; i < c->nr_engines; i++) {
		struct gpu_engine *e = &c->engines[i];

		e->total_before = e->total;
		e->has_total_before = e->has_total;
		e->has_total = false;
		e->grown_ns = e->grown_cycles = 0;
		e->values[GPU_ENGINE_CLIENTS] = 0;
		e->has &= ~BIT(GPU_ENGINE_FREQUENCY); /* of now, if a client tells it */
	}
	for (size_t i = 0; i < c->nr_processes; i++) {
		struct gpu_process *p = &c->processes[i];

		p->is_seen = false;
		p->error = 0;
		p->nr_kept = 0;
		p->grown_ns = p->grown_cycles = 0;
		p->had_clients = p->values[GPU_PROCESS_CLIENTS] != 0;
		p->values[GPU_PROCESS_MEMORY] = p->values[GPU_PROCESS_MEMORY_MACHINE] = 0;
		p->values[GPU_PROCESS_CLIENTS] = p->values[GPU_PROCESS_BUSY] = 0;
		p->has &= BIT(GPU_PROCESS_BUSY_TIME) | BIT(GPU_PROCESS_BUSY_CYCLES);
	}
}

static void drop(struct client *client)
{
	mem_free(client->uses);
}

/* What it used since the last reading is in no sum. */
static void end_client(struct gpu_clients *c, const struct client *client)
{
	struct gpu_process *p =
	    ARRAY_FIND(x, c->processes, c->nr_processes, x->pid == client->process);

	for (size_t i = 0; i < client->nr_uses; i++)
		c->engines[client->uses[i].engine].nr_missed++;
	if (p)
		p->nr_missed++;
}

static int by_device(const void *a, const void *b)
{
	const struct client *x = a, *y = b;

	return compare(x, y->device, y->id);
}

static void end_clients(struct gpu_clients *c)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr; i++) {
		if (c->list[i].is_seen) {
			c->list[nr++] = c->list[i];
			continue;
		}
		end_client(c, &c->list[i]);
		drop(&c->list[i]);
	}
	c->nr = nr;
}

static void sort(struct gpu_clients *c)
{
	order_sort(c->list, c->nr, sizeof(*c->list), by_device);
	c->nr_sorted = c->nr;
}

/* Of time: all since the engine is known. Of cycles: while both readings had its clock. */
static void end_share(struct gpu_clients *c, struct gpu_engine *e)
{
	uint64_t *part = &e->values[GPU_ENGINE_BUSY], *whole = &e->wholes[GPU_ENGINE_BUSY];
	uint64_t capacity = e->values[GPU_ENGINE_CAPACITY], total = 0, span = 0;

	if (e->has_total && e->has_total_before && e->total > e->total_before)
		total = e->total - e->total_before;
	if (e->has_total)
		e->has |= BIT(GPU_ENGINE_TOTAL_CYCLES);
	add_up(&e->values[GPU_ENGINE_TOTAL_CYCLES], total);
	if (e->has & BIT(GPU_ENGINE_BUSY_TIME)) {
		span = c->is_read ? c->time_ns - c->time_before_ns : 0;
		add_up(part, e->grown_ns);
	} else if (e->has & BIT(GPU_ENGINE_TOTAL_CYCLES)) {
		span = total;
		add_up(part, total ? e->grown_cycles : 0);
	} else {
		return;
	}
	if (__builtin_mul_overflow(span, capacity, &span))
		span = UINT64_MAX;
	add_up(whole, span);
	e->has |= BIT(GPU_ENGINE_BUSY);
}

static void end_engines(struct gpu_clients *c)
{
	for (size_t i = 0; i < c->nr_engines; i++) {
		struct gpu_engine *e = &c->engines[i];

		add_up(&e->values[GPU_ENGINE_BUSY_TIME], e->grown_ns);
		add_up(&e->values[GPU_ENGINE_BUSY_CYCLES], e->grown_cycles);
		end_share(c, e);
	}
}

/* If it has none of the clients that it had, its number may be another's: it is a new thing. */
static void renew(struct gpu_clients *c, struct gpu_process *p)
{
	p->number = c->next_number++;
	p->born_ns = c->time_ns;
	p->nr_missed = 0;
	p->is_noted = false;
	p->values[GPU_PROCESS_BUSY_TIME] = p->values[GPU_PROCESS_BUSY_CYCLES] = 0;
}

static void name_process(struct gpu_clients *c, struct gpu_process *p)
{
	if (reader->command(c->proc, p->pid, p->command))
		p->command[0] = '\0';
	snprintf(p->name, sizeof(p->name), "%" PRIu32 "%s%s", p->pid, p->command[0] ? " " : "",
		 p->command);
	str_clean(p->name, strlen(p->name));
}

static void note_error(struct gpu_clients *c, struct gpu_process *p)
{
	if (!p->error || p->is_noted)
		return;
	p->is_noted = true;
	gpu_clients_note(
	    c, "what process %s uses of GPUs cannot be read: %s%s", p->name,
	    p->error == -EINVAL || p->error == -ERANGE ? "its fdinfo is damaged"
						       : strerror(-p->error),
	    p->error == -EACCES || p->error == -EPERM ? "; needs its user, or CAP_SYS_PTRACE" : "");
}

static void end_processes(struct gpu_clients *c, bool is_whole)
{
	size_t nr = 0;

	for (size_t i = 0; i < c->nr_processes; i++) {
		struct gpu_process *p = &c->processes[i];

		if (!p->is_seen && is_whole)
			continue;
		if (is_whole && p->had_clients && !p->nr_kept && p->values[GPU_PROCESS_CLIENTS])
			renew(c, p);
		add_up(&p->values[GPU_PROCESS_BUSY_TIME], p->grown_ns);
		add_up(&p->values[GPU_PROCESS_BUSY_CYCLES], p->grown_cycles);
		name_process(c, p);
		note_error(c, p);
		c->processes[nr++] = *p;
	}
	c->nr_processes = nr;
}

static int read_makers(struct gpu_clients *c)
{
	return ARRAY_RUN(i, c->nr_makers, c->makers[i].is->read(c->makers[i].state, c));
}

/* After a failure halfway, what was read has been added to clients, so it must be to the sums. */
static int read_all(struct gpu_clients *c)
{
	int rc;

	begin(c);
	rc = read_makers(c);
	if (rc == 0)
		end_clients(c);
	sort(c);
	end_engines(c);
	end_processes(c, rc == 0);
	c->is_read |= rc == 0;
	return rc;
}

void gpu_clients_begin(struct gpu_clients *c)
{
	c->is_due = true;
}

int gpu_clients_read(struct gpu_clients *c, uint64_t *round)
{
	if (c->is_due || *round == c->round) {
		c->is_due = false;
		c->result = read_all(c);
		c->round++;
	}
	*round = c->round;
	return c->result;
}

/* ---- the list */

/* 0; -ENOENT with *e: it has no GPU; or -errno with *e. */
static int open_maker(struct gpu_clients *c, const struct gpu_client_maker *is, struct err *e)
{
	struct maker *m = &c->makers[c->nr_makers];
	int rc = is->open(&c->root, c->proc, &m->state, e);

	m->is = is;
	c->nr_makers += rc == 0;
	return rc;
}

/* One with a GPU is enough; if there is none, the first says why whose GPU cannot be read, or else
 * the first. */
static int open_makers(struct gpu_clients *c, const struct gpu_client_maker *const *makers,
		       size_t nr, struct err *e)
{
	struct err why = {0};

	for (size_t i = 0; i < nr; i++) {
		struct err of_maker = {0};
		int rc = open_maker(c, makers[i], &of_maker);

		if (rc && (!why.code || (why.code == -ENOENT && rc != -ENOENT)))
			why = of_maker;
		if (rc == -ENOMEM)
			return err_set(e, rc, "%s", of_maker.msg);
	}
	return c->nr_makers ? 0 : err_set(e, why.code, "%s", why.msg);
}

int gpu_clients_open_with(const struct root *root, const struct gpu_client_maker *const *makers,
			  size_t nr, struct gpu_clients **out, struct err *e)
{
	struct gpu_clients *c = mem_zalloc(sizeof(*c));
	int rc;

	if (!c)
		return err_set(e, -ENOMEM, "GPUs: out of memory");
	c->nr_owners = 1;
	c->root = *root;
	buf_init(&c->notes, MAX_NOTES_BYTES);
	rc = reader->open(root, 0, &c->proc);
	if (rc)
		err_set(e, rc, "/proc: cannot be read: %s", strerror(-rc));
	rc = rc ? rc : open_makers(c, makers, nr, e);
	if (rc)
		gpu_clients_close(c);
	else
		*out = c;
	return rc;
}

int gpu_clients_open(const struct root *root, struct gpu_clients **out, struct err *e)
{
	return gpu_clients_open_with(root, all_makers, ARRAY_NR(all_makers), out, e);
}

struct gpu_clients *gpu_clients_share(struct gpu_clients *c)
{
	c->nr_owners++;
	return c;
}

void gpu_clients_close(struct gpu_clients *c)
{
	if (!c || --c->nr_owners)
		return;
	for (size_t i = 0; i < c->nr_makers; i++)
		c->makers[i].is->close(c->makers[i].state);
	if (c->proc)
		reader->close(c->proc);
	for (size_t i = 0; i < c->nr; i++)
		drop(&c->list[i]);
	for (size_t i = 0; i < c->nr_devices; i++)
		mem_free(c->devices[i]);
	mem_free(c->list);
	mem_free(c->engines);
	mem_free(c->processes);
	buf_fini(&c->notes);
	mem_free(c);
}

/* The best that a maker can do. */
int gpu_clients_use_kernel(struct gpu_clients *c, struct err *why)
{
	int rc = -ENODATA;

	for (size_t i = 0; i < c->nr_makers && rc; i++)
		if (c->makers[i].is->use_kernel)
			rc = c->makers[i].is->use_kernel(c->makers[i].state, why);
	return rc;
}

const char *gpu_clients_way(const struct gpu_clients *c)
{
	const char *way = NULL;

	for (size_t i = 0; i < c->nr_makers && !way; i++)
		if (c->makers[i].is->way)
			way = c->makers[i].is->way(c->makers[i].state);
	return way;
}

uint64_t gpu_clients_time(const struct gpu_clients *c)
{
	return c->time_ns;
}

size_t gpu_clients_nr_engines(const struct gpu_clients *c)
{
	return c->nr_engines;
}

const struct gpu_engine *gpu_clients_engine(const struct gpu_clients *c, size_t i)
{
	return &c->engines[i];
}

size_t gpu_clients_nr_processes(const struct gpu_clients *c)
{
	return c->nr_processes;
}

const struct gpu_process *gpu_clients_process(const struct gpu_clients *c, size_t i)
{
	return &c->processes[i];
}

void *gpu_clients_proc(const struct gpu_clients *c)
{
	return c->proc;
}
