/*
 * A place is found once for each function of a process, by its offset in the file. Where places lie
 * in their files is read at first: nothing of others is opened while the session runs.
 */
#include "hooks/hooks.h"

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/root.h"
#include "base/sum.h"
#include "elf/file.h"
#include "elf/reader.h"
#include "functions/functions.h"
#include "hooks/keeper.h"
#include "hooks/plans.h"
#include "hooks/undo.h"
#include "proc/family.h"
#include "proc/proc.h"
#include "wire/functions.h"
#include "wire/wire.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

_Static_assert((int)HOOKS_BUCKETS == (int)WIRE_FUNCTIONS_BUCKETS, "buckets");
_Static_assert((int)PATCH_MOVED_BYTES == (int)WIRE_FUNCTIONS_MOVED, "bytes that are moved");

enum { MAX_PROCESSES = 1024, SOME_PROCESSES = 64, MAX_SOCKET_BYTES = 64, NOWHERE = UINT32_MAX };
enum { MAX_NUMBERS = 1 << 22 }; /* of functions in processes, in all that live */
enum {
	MAX_NAME_BYTES = 64,
	MAX_LOOKS = 16, /* for children that were made meanwhile */
	PLACING_NS = 1000000000,
	PLACING_PAUSE_NS = 200000,
	KEEPER_MS = 1000,
};

struct spot {
	struct wire_functions_place at;
	uint64_t address; /* in the file's segments */
	uint32_t place;
};

/* A file that has places. */
struct file {
	const char *path; /* borrowed from a place */
	uint32_t major, minor;
	uint64_t inode;
	struct spot *spots; /* owned; by offset */
	size_t nr, room;
};

struct process {
	uint32_t pid;
	int pidfd;                     /* below 0: not supported */
	struct wire_functions *memory; /* owned */
	uint32_t *place;               /* owned; of each number, or NOWHERE */
	size_t nr, room;
	bool is_large; /* not all of it could be read */
};

/* Calls of a place. */
struct part {
	struct wire_functions_sum sum;
	uint64_t *bucket; /* owned; NULL: none */
};

struct function {
	struct part ended, all; /* of processes that have ended; of all, at the last reading */
	const char *refused;    /* constant */
	const char *untimed;    /* constant */
};

struct hooks {
	struct hooks_config config;
	struct wire_functions_config memory; /* wanted: owned */
	struct wire *wire;                   /* owned */
	struct file *files;                  /* owned */
	size_t nr_files, file_room;
	struct wire_functions_file *wanted; /* owned, with its places; of each file */
	struct wire_functions_pages *pages; /* owned */
	struct function *functions;         /* owned; of each place */
	bool *is_out;                       /* owned; the same */
	bool has_plans;                     /* programs are changed when they start */
	bool has_times;                     /* of any place */
	bool has_left;
	char socket[MAX_SOCKET_BYTES];
	char variable[sizeof(HOOKS_VARIABLE) + 1 + MAX_SOCKET_BYTES]; /* with its value */
	struct child keeper;
	struct hooks_limits ended, all;

	/* What the wire's thread changes: */
	pthread_mutex_t lock;
	struct process *processes; /* owned */
	size_t nr, room;
	size_t nr_numbers; /* of all of them */
	size_t look_at;    /* so many processes: those that have ended are looked for */
	double price_ns;   /* of a call; the most of them */
	uint32_t nr_connected, nr_refused, nr_late, nr_failed;
	int failed_error;
};

/* --- where places are */

static int add_file(struct hooks *h, const char *path, struct file **out)
{
	struct file *f = ARRAY_FIND(x, h->files, h->nr_files, strcmp(x->path, path) == 0);

	if (!f) {
		f = MEM_ADD(h->files, h->nr_files, h->file_room);
		if (!f)
			return -ENOMEM;
		*f = (struct file){.path = path};
	}
	*out = f;
	return 0;
}

static int add_place(struct hooks *h, size_t i)
{
	struct file *f;
	struct spot *s;

	if (add_file(h, h->config.place[i]->path, &f))
		return -ENOMEM;
	s = MEM_ADD(f->spots, f->nr, f->room);
	if (!s)
		return -ENOMEM;
	*s = (struct spot){.place = (uint32_t)i};
	return 0;
}

static bool find_spot(const struct elf_file *elf, struct spot *s, const struct functions_place *p)
{
	struct elf_segment segment;

	for (size_t i = 0; i < elf_file_nr_segments(elf); i++) {
		elf_file_segment(elf, i, &segment);
		if (p->address < segment.address ||
		    p->address - segment.address >= segment.file_bytes)
			continue;
		s->at.offset = p->address - segment.address + segment.offset;
		s->at.size = p->size;
		s->address = p->address;
		return true;
	}
	return false;
}

static int compare_spots(const void *a, const void *b)
{
	const struct spot *x = a, *y = b;

	return x->at.offset < y->at.offset ? -1 : x->at.offset > y->at.offset;
}

static struct wire_functions_site make_site(const struct spot *s, const struct patch_plan *p)
{
	struct wire_functions_site site = {.offset = p->address - s->address + s->at.offset,
					   .len = p->len,
					   .moved_len = p->moved_len,
					   .depth = p->depth};

	memcpy(site.old, p->old, sizeof(site.old));
	return site;
}

static int set_exits(struct spot *s, const struct hooks_plan *p)
{
	struct wire_functions_site *exit = mem_calloc(p->nr_exits, sizeof(*exit));

	if (!exit)
		return -ENOMEM;
	for (size_t i = 0; i < p->nr_exits; i++)
		exit[i] = make_site(s, &p->exits[i]);
	s->at.exit = exit;
	s->at.nr_exits = p->nr_exits;
	return 0;
}

static int set_plan(struct hooks *h, struct spot *s, const struct hooks_plan *p)
{
	s->at.begin = make_site(s, &p->plan);
	h->has_plans = true;
	h->has_times |= p->nr_exits != 0;
	return p->nr_exits ? set_exits(s, p) : 0;
}

/* What the compiler has not prepared is changed by the agent. */
static int plan_spots(struct hooks *h, const struct elf_file *elf, struct elf_reader *reader,
		      struct file *f)
{
	struct hooks_plan *plans = mem_calloc(f->nr + 1, sizeof(*plans));
	size_t nr = 0;
	int rc;

	if (!plans)
		return -ENOMEM;
	for (size_t i = 0; i < f->nr; i++) {
		plans[nr].place = h->config.place[f->spots[i].place];
		nr += plans[nr].place->prepared == FUNCTIONS_PREPARED_NOT;
	}
	rc = nr ? hooks_plans_make(elf, f->path, reader, h->config.has_times, plans, nr) : 0;
	for (size_t i = 0, k = 0; i < f->nr && k < nr && rc == 0; i++) {
		struct spot *s = &f->spots[i];

		if (plans[k].place != h->config.place[s->place])
			continue;
		h->functions[s->place].refused = plans[k].refused;
		h->functions[s->place].untimed = plans[k].untimed;
		/* of several names of one begin, the last one has the calls (find_in_file) */
		if (!plans[k].refused && (i + 1 == f->nr || s[1].at.offset != s->at.offset))
			rc = set_plan(h, s, &plans[k]);
		k++;
	}
	hooks_plans_fini(plans, nr);
	mem_free(plans);
	return rc;
}

/* The places of a file that cannot be read have no calls. */
static int find_spots(struct hooks *h, struct elf_reader *reader, struct file *f)
{
	struct err unused = {0};
	struct elf_file *elf;
	struct stat st;
	size_t nr = 0;
	int rc;

	if (elf_file_open(reader, f->path, &elf, &st, &unused)) {
		for (size_t i = 0; i < f->nr; i++)
			h->functions[f->spots[i].place].refused = "its file cannot be read";
		f->nr = 0;
		return 0;
	}
	f->major = major(st.st_dev);
	f->minor = minor(st.st_dev);
	f->inode = st.st_ino;
	for (size_t i = 0; i < f->nr; i++) {
		struct spot s = f->spots[i];

		if (find_spot(elf, &s, h->config.place[s.place]))
			f->spots[nr++] = s;
	}
	f->nr = nr;
	qsort(f->spots, nr, sizeof(*f->spots), compare_spots);
	rc = h->config.patches ? plan_spots(h, elf, reader, f) : 0;
	elf_file_close(elf);
	return rc;
}

static int find_places(struct hooks *h)
{
	const struct elf_reader_config config = {.max_bytes = 0};
	struct elf_reader *reader;
	int rc = ARRAY_RUN(i, h->config.nr, add_place(h, i)) ?: elf_reader_new(&config, &reader);

	if (rc)
		return rc;
	rc = ARRAY_RUN(i, h->nr_files, find_spots(h, reader, &h->files[i]));
	elf_reader_free(reader);
	return rc;
}

/* Devices of some file systems have another number in mappings than stat(2) says. */
static bool is_mapped(const struct file *f, const struct wire_functions_object *o)
{
	return f->inode == o->inode &&
	       ((f->major == o->major && f->minor == o->minor) || strcmp(f->path, o->path) == 0);
}

/* The last place that begins there or before. */
static uint32_t find_in_file(const struct file *f, uint64_t offset)
{
	size_t behind = ORDER_FIRST(i, f->nr, f->spots[i].at.offset > offset);

	if (!behind)
		return NOWHERE;
	/* the compiler's symbol may be without a size: then it is at the beginning alone */
	return offset - f->spots[behind - 1].at.offset < (f->spots[behind - 1].at.size ?: 1)
		   ? f->spots[behind - 1].place
		   : NOWHERE;
}

static uint32_t find_place(const struct hooks *h, const struct wire_functions *memory,
			   uint32_t number)
{
	uint64_t address = wire_functions_address(memory, number);
	struct wire_functions_object o;
	const struct file *f;

	if (!address || !wire_functions_object(memory, address, &o))
		return NOWHERE;
	f = ARRAY_FIND(x, h->files, h->nr_files, is_mapped(x, &o));
	return f ? find_in_file(f, o.offset + (address - o.start)) : NOWHERE;
}

static int list_places(struct wire_functions_file *to, const struct file *f)
{
	struct wire_functions_place *place = mem_calloc(f->nr + 1, sizeof(*place));

	if (!place)
		return -ENOMEM;
	for (size_t i = 0; i < f->nr; i++)
		place[i] = f->spots[i].at;
	*to = (struct wire_functions_file){.path = f->path,
					   .major = f->major,
					   .minor = f->minor,
					   .inode = f->inode,
					   .place = place,
					   .nr = f->nr};
	return 0;
}

/* The programs measure places alone. */
static int want_places(struct hooks *h)
{
	h->wanted = mem_calloc(h->nr_files + 1, sizeof(*h->wanted));
	if (!h->wanted)
		return -ENOMEM;
	return ARRAY_RUN(i, h->nr_files, list_places(&h->wanted[i], &h->files[i]))
		   ?: wire_functions_want(h->wanted, h->nr_files, &h->memory.wanted);
}

/* --- processes */

static void free_process(struct process *p)
{
	io_close(&p->pidfd);
	wire_functions_free(p->memory);
	mem_free(p->place);
}

static bool is_gone(const struct process *p)
{
	struct pollfd fd = {.fd = p->pidfd, .events = POLLIN};

	return p->pidfd < 0 ? kill((pid_t)p->pid, 0) && errno == ESRCH : poll(&fd, 1, 0) > 0;
}

/* --- readings */

static int make_buckets(const struct hooks *h, struct part *p)
{
	if (h->has_times && !p->bucket)
		p->bucket = mem_calloc(HOOKS_BUCKETS, sizeof(*p->bucket));
	return h->has_times && !p->bucket ? -ENOMEM : 0;
}

static void leave_out(const struct hooks *h, struct process *p)
{
	for (uint32_t i = 1; i < p->nr; i++)
		if (p->place[i] != NOWHERE)
			wire_functions_leave_out(p->memory, i, h->is_out[p->place[i]]);
}

void hooks_leave_out(struct hooks *h, const bool *is_out)
{
	pthread_mutex_lock(&h->lock);
	memcpy(h->is_out, is_out, h->config.nr * sizeof(*is_out));
	for (size_t i = 0; i < h->nr; i++)
		leave_out(h, &h->processes[i]);
	pthread_mutex_unlock(&h->lock);
}

/* Finds the places of functions that are new. */
static int grow(struct hooks *h, struct process *p)
{
	const uint32_t nr = wire_functions_nr(p->memory);

	while (p->nr < nr && h->nr_numbers < MAX_NUMBERS) {
		uint32_t place = find_place(h, p->memory, (uint32_t)p->nr), *to;

		to = MEM_ADD(p->place, p->nr, p->room);
		if (!to)
			return -ENOMEM;
		*to = place;
		h->nr_numbers++;
		if (place != NOWHERE && h->is_out[place])
			wire_functions_leave_out(p->memory, (uint32_t)p->nr - 1, true);
	}
	p->is_large |= p->nr < nr;
	return 0;
}

/* Of what is called. What is patched has a number before, and may never be. */
static int make_all_buckets(struct hooks *h, const struct process *p)
{
	for (uint32_t i = 1; i < p->nr && h->has_times; i++) {
		struct function *f = p->place[i] == NOWHERE ? NULL : &h->functions[p->place[i]];
		struct wire_functions_sum sum = {0};

		if (!f || (f->all.bucket && f->ended.bucket))
			continue;
		wire_functions_add(p->memory, i, &sum, NULL);
		if (sum.calls && (make_buckets(h, &f->all) || make_buckets(h, &f->ended)))
			return -ENOMEM;
	}
	return 0;
}

static void add_limits(const struct process *p, struct hooks_limits *to)
{
	struct wire_functions_limits l;

	wire_functions_limits(p->memory, &l);
	sum_add(&to->missed, l.missed);
	sum_add(&to->untimed, l.untimed);
	to->joined += l.joined;
	to->patched += l.patched;
	to->unpatched += l.unpatched;
	to->placed += l.placed;
	to->timed += l.timed;
	to->half += l.half;
	to->unplaced += l.unplaced;
	if (l.unplaced)
		to->unplaced_error = l.unplaced_error;
}

/* Number 0 is of the agent. */
static void add_calls(const struct hooks *h, const struct process *p, bool is_ended,
		      struct hooks_limits *limits)
{
	for (uint32_t i = 1; i < p->nr; i++) {
		struct wire_functions_sum other = {0};
		struct function *f = p->place[i] == NOWHERE ? NULL : &h->functions[p->place[i]];
		struct part *to = f ? is_ended ? &f->ended : &f->all : NULL;

		/* first called after buckets were made: its times follow at the next reading */
		const bool is_early = to && h->has_times && !to->bucket;

		wire_functions_add(p->memory, i, to && !is_early ? &to->sum : &other,
				   to ? to->bucket : NULL);
		sum_add(is_early ? &to->sum.calls : &limits->nameless, other.calls);
	}
	add_limits(p, limits);
}

/* A step of a reading: is_new finds what is new, and limits adds all to the sums. */
static int read_process(struct hooks *h, struct process *p, bool is_new, bool is_ended,
			struct hooks_limits *limits)
{
	int rc;

	wire_functions_look(p->memory, h->pages);
	rc = is_new ? grow(h, p) ?: make_all_buckets(h, p) : 0;
	if (rc == 0 && limits)
		add_calls(h, p, is_ended, limits);
	p->is_large |= !wire_functions_rest(p->memory);
	if (rc == 0 && limits)
		limits->large += p->is_large;
	return rc;
}

/* What processes that have ended had begins the sums of all. */
static void begin_sums(struct hooks *h)
{
	for (size_t i = 0; i < h->config.nr; i++) {
		struct function *f = &h->functions[i];

		f->all.sum = f->ended.sum;
		if (f->all.bucket)
			memcpy(f->all.bucket, f->ended.bucket,
			       HOOKS_BUCKETS * sizeof(*f->all.bucket));
	}
	h->all = h->ended;
}

/* The end of a process is looked for before its memory is read: nothing is written after it. */
static int add_ended(struct hooks *h)
{
	int rc = 0;

	for (size_t i = h->nr; i-- > 0 && rc == 0;) {
		struct process *p = &h->processes[i];

		if (!is_gone(p))
			continue;
		rc = read_process(h, p, true, true, &h->ended);
		if (rc)
			break;
		h->nr_numbers -= p->nr;
		free_process(p);
		*p = h->processes[--h->nr];
	}
	return rc;
}

static int read_all(struct hooks *h)
{
	int rc = add_ended(h)
		     ?: ARRAY_RUN(i, h->nr, read_process(h, &h->processes[i], true, false, NULL));

	if (rc)
		return rc;
	begin_sums(h);
	for (size_t i = 0; i < h->nr; i++)
		(void)read_process(h, &h->processes[i], false, false, &h->all);
	return 0;
}

/* In the wire's thread. Many processes may begin and end between two boundaries. */
static bool add_process(void *arg, uint32_t pid, int pidfd, struct wire_functions *memory)
{
	struct hooks *h = arg;
	struct process *p = NULL;

	if (h->config.is_wanted && !h->config.is_wanted(h->config.arg, pid))
		return false;
	pthread_mutex_lock(&h->lock);
	if (h->nr >= h->look_at || h->nr == MAX_PROCESSES) {
		(void)add_ended(h); /* what cannot be added now is added later */
		h->look_at = 2 * h->nr + SOME_PROCESSES;
	}
	if (h->nr < MAX_PROCESSES)
		p = MEM_ADD(h->processes, h->nr, h->room);
	if (p)
		*p = (struct process){.pid = pid, .pidfd = pidfd, .memory = memory};
	h->nr_connected += !!p;
	h->nr_refused += !p;
	pthread_mutex_unlock(&h->lock);
	return p;
}

/* In the wire's thread. */
static void lose_process(void *arg, uint32_t pid, int error)
{
	struct hooks *h = arg;

	if (pid && h->config.is_wanted && !h->config.is_wanted(h->config.arg, pid))
		return;
	pthread_mutex_lock(&h->lock);
	h->nr_late += error == -ETIMEDOUT;
	h->nr_failed += pid && error != -ETIMEDOUT;
	h->failed_error = error != -ETIMEDOUT ? -error : h->failed_error;
	pthread_mutex_unlock(&h->lock);
}

static bool may_connect(void *arg, uint32_t pid)
{
	const struct hooks *h = arg;

	return h->config.may_connect && h->config.may_connect(h->config.arg, pid);
}

/* Under the lock. */
static double see_price(struct hooks *h)
{
	for (size_t i = 0; i < h->nr; i++) {
		double ns = wire_functions_price(h->processes[i].memory);

		h->price_ns = ns > h->price_ns ? ns : h->price_ns;
	}
	return h->price_ns;
}

int hooks_read(struct hooks *h)
{
	double price_ns;
	int rc;

	pthread_mutex_lock(&h->lock);
	price_ns = see_price(h); /* those that have ended are forgotten in the reading */
	rc = read_all(h);
	h->all.cost_ns = price_ns;
	h->all.processes = h->nr_connected;
	h->all.refused = h->nr_refused;
	h->all.late = h->nr_late;
	h->all.failed = h->nr_failed;
	h->all.failed_error = h->failed_error;
	pthread_mutex_unlock(&h->lock);
	return rc;
}

static int look_at(struct hooks *h, struct process *p, uint64_t *calls)
{
	int rc;

	wire_functions_look(p->memory, h->pages);
	rc = grow(h, p);
	for (uint32_t i = 1; i < p->nr && rc == 0; i++) {
		struct wire_functions_sum sum = {0};

		if (p->place[i] == NOWHERE)
			continue;
		wire_functions_add(p->memory, i, &sum, NULL);
		sum_add(&calls[p->place[i]], sum.calls);
	}
	(void)wire_functions_rest(p->memory);
	return rc;
}

int hooks_look(struct hooks *h, uint64_t *calls, double *cost_ns)
{
	int rc;

	pthread_mutex_lock(&h->lock);
	for (size_t i = 0; i < h->config.nr; i++)
		calls[i] = h->functions[i].ended.sum.calls;
	rc = ARRAY_RUN(i, h->nr, look_at(h, &h->processes[i], calls));
	*cost_ns = see_price(h);
	pthread_mutex_unlock(&h->lock);
	return rc;
}

/* Others make buckets, and nobody frees them before the end. */
const uint64_t *hooks_buckets(const struct hooks *h, size_t place)
{
	pthread_mutex_t *lock = (pthread_mutex_t *)(uintptr_t)&h->lock;
	const uint64_t *bucket;

	pthread_mutex_lock(lock);
	bucket = h->functions[place].all.bucket;
	pthread_mutex_unlock(lock);
	return bucket;
}

void hooks_sums(const struct hooks *h, size_t place, struct hooks_sums *out)
{
	const struct part *p = &h->functions[place].all;
	const uint64_t *bucket = hooks_buckets(h, place);

	*out = (struct hooks_sums){.calls = p->sum.calls,
				   .wall_ns = p->sum.wall_ns,
				   .self_ns = p->sum.self_ns,
				   .max_ns = p->sum.max_ns,
				   .cost_ns = p->sum.cost_ns};
	for (size_t i = 0; bucket && i < HOOKS_BUCKETS; i++)
		sum_add(&out->ended, bucket[i]);
}

void hooks_limits(const struct hooks *h, struct hooks_limits *out)
{
	*out = h->all;
}

/* --- the whole */

static int open_wire(struct hooks *h, struct err *e)
{
	const struct wire_config config = {.arg = h,
					   .may_connect = may_connect,
					   .functions = &h->memory,
					   .functions_added = add_process,
					   .functions_lost = lose_process};
	int rc = wire_open(&config, &h->wire, e);

	if (rc)
		return rc;
	h->memory.recorder = wire_number(h->wire);
	rc = wire_start(h->wire);
	return rc ? err_set(e, rc, "cannot start a thread for functions: %s", strerror(-rc)) : 0;
}

static struct hooks_replaced replaced(const struct hooks *h)
{
	return (struct hooks_replaced){h->wanted, h->nr_files, h->memory.recorder};
}

/* Without it all works, but if this process is killed. */
static void start_keeper(struct hooks *h)
{
	const struct hooks_kept kept = {replaced(h), h->variable};
	int rc = hooks_keeper_start(&kept, &h->keeper);

	if (rc)
		log_verbose(1, "if cpuperf is killed, patched entries stay: %s", strerror(-rc));
}

int hooks_open(const struct hooks_config *config, struct hooks **out, struct err *e)
{
	struct hooks *h = mem_zalloc(sizeof(*h));
	int rc;

	if (!h)
		return err_set(e, -ENOMEM, "no memory for functions");
	h->config = *config;
	h->keeper = CHILD_NONE;
	/* with those that are patched, as find_places finds them */
	h->has_times = config->has_times &&
		       (!config->patches || ARRAY_ANY(p, config->place, config->nr,
						      (*p)->prepared == FUNCTIONS_PREPARED_BOTH));
	pthread_mutex_init(&h->lock, NULL);
	wire_functions_configure(&h->memory, false); /* as hooks_close expects */
	h->functions = mem_calloc(config->nr ?: 1, sizeof(*h->functions));
	h->is_out = mem_calloc(config->nr ?: 1, sizeof(*h->is_out));
	h->pages = wire_functions_pages_new();
	rc = h->functions && h->is_out && h->pages ? find_places(h) : -ENOMEM;
	if (rc == 0) {
		wire_functions_configure(&h->memory, h->has_times);
		rc = want_places(h);
	}
	rc = rc ? err_set(e, rc, "no memory for functions: %s", strerror(-rc)) : open_wire(h, e);
	if (rc) {
		hooks_close(h);
		return rc;
	}
	/* A program that is to be changed connects at its start; others when they call a place. */
	snprintf(h->socket, sizeof(h->socket), "%s%s", wire_name(h->wire), h->has_plans ? "+" : "");
	snprintf(h->variable, sizeof(h->variable), HOOKS_VARIABLE "=%s", h->socket);
	if (h->has_plans)
		start_keeper(h);
	*out = h;
	return rc;
}

/* --- the end, after which programs go on */

/* Without memory some are missing. */
static void find_processes(struct hooks *h, struct proc_family *out)
{
	for (size_t i = 0; i < h->nr; i++)
		if (!is_gone(&h->processes[i]))
			(void)proc_family_add(out, h->processes[i].pid);
	hooks_keeper_find(h->variable, out);
}

/* Those that replace instructions just now are waited for. */
static void end_placing(struct hooks *h)
{
	const struct timespec pause = {0, PLACING_PAUSE_NS};
	const uint64_t start = clock_monotonic_ns();

	for (size_t i = 0; i < h->nr; i++)
		while (wire_functions_end(h->processes[i].memory) && !is_gone(&h->processes[i]) &&
		       clock_monotonic_ns() - start < PLACING_NS)
			nanosleep(&pause, NULL);
}

static void report(uint32_t pid, int rc, const struct hooks_undone *found)
{
	BUF_AUTO(name, MAX_NAME_BYTES);

	proc_add_name(PROC(&root_live, pid), &name);
	if (rc && rc != -ESRCH)
		log_warning("process %s keeps its patched entries, which count for nobody: %s",
			    buf_str(&name),
			    rc == -EPERM    ? "it may not be traced, or is already"
			    : rc == -EAGAIN ? "its threads could not be stopped within 2 s"
					    : strerror(-rc));
	if (found->breakpoints)
		log_warning("process %s has breakpoints in %zu measured functions: another tool "
			    "has set them, or the kernel has left them; they stay",
			    buf_str(&name), found->breakpoints);
	if (found->nr)
		log_verbose(1, "process %s is as before: %zu entries are restored", buf_str(&name),
			    found->nr);
}

/* The number of processes that were changed: a child that one of these has made before has its
 * code. */
static size_t undo_all(struct hooks *h, struct proc_family *done)
{
	const struct hooks_replaced what = replaced(h);
	struct proc_family now = {.nr = 0};
	size_t nr = 0;

	find_processes(h, &now);
	for (size_t i = 0; i < now.nr; i++) {
		struct hooks_undone found = {0};
		int rc = hooks_undo(&what, (pid_t)now.pid[i], &found);

		nr += found.nr != 0;
		if (!ARRAY_ANY(x, done->pid, done->nr, *x == now.pid[i]))
			report(now.pid[i], rc, &found);
		(void)proc_family_add(done, now.pid[i]);
	}
	proc_family_fini(&now);
	return nr;
}

void hooks_leave(struct hooks *h)
{
	struct proc_family done = {.nr = 0};

	if (h->has_left || !h->wire)
		return;
	h->has_left = true;
	wire_stop(h->wire);
	end_placing(h);
	for (int i = 0; i < MAX_LOOKS && h->has_plans && h->nr_connected; i++)
		if (!undo_all(h, &done))
			break;
	proc_family_fini(&done);
	child_end(&h->keeper, KEEPER_MS);
}

void hooks_close(struct hooks *h)
{
	if (!h)
		return;
	hooks_leave(h);
	wire_free(h->wire);
	io_close(&h->memory.wanted);
	for (size_t i = 0; i < h->nr; i++)
		free_process(&h->processes[i]);
	for (size_t i = 0; h->functions && i < h->config.nr; i++) {
		mem_free(h->functions[i].ended.bucket);
		mem_free(h->functions[i].all.bucket);
	}
	for (size_t i = 0; i < h->nr_files; i++) {
		for (size_t k = 0; k < h->files[i].nr; k++)
			mem_free((void *)(uintptr_t)h->files[i].spots[k].at.exit);
		mem_free(h->files[i].spots);
		if (h->wanted)
			mem_free((void *)(uintptr_t)h->wanted[i].place);
	}
	mem_free(h->wanted);
	mem_free(h->files);
	mem_free(h->functions);
	mem_free(h->is_out);
	mem_free(h->pages);
	mem_free(h->processes);
	pthread_mutex_destroy(&h->lock);
	mem_free(h);
}

const char *hooks_socket(const struct hooks *h)
{
	return h->socket;
}

const char *hooks_refused(const struct hooks *h, size_t place)
{
	return h->functions[place].refused;
}

const char *hooks_untimed(const struct hooks *h, size_t place)
{
	return h->functions[place].untimed;
}

bool hooks_has_times(const struct hooks *h)
{
	return h->has_times;
}
