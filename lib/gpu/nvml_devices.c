/*
 * What the thread has (struct job) others touch only while it rests; what they need in between is
 * in slots, by the same index.
 */
#include "gpu/nvml_devices.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/mem.h"
#include "gpu/nvidia_driver.h"
#include "things/bounded.h"
#include "things/listing.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

/* To begin takes seconds for each GPU that no other program holds. */
static const uint64_t begin_ns = UINT64_C(7000000000), begin_gpu_ns = UINT64_C(3000000000),
		      max_begin_ns = UINT64_C(30000000000), read_ns = UINT64_C(2000000000);

/* The driver has not answered in time, to any source, and has answered none since. */
static atomic_bool is_hung;

enum { MAX_LISTED = 4 * NVML_DEVICES_MAX };

struct slot {
	char address[NVIDIA_ADDRESS_BYTES], name[NVIDIA_NAME_BYTES];
	bool is_seen; /* in the list that is being read */
	bool is_listed, is_lost, is_divided;
	int noted; /* the NVML result of which a note was written */
};

struct job {
	struct nvml nvml;
	const struct nvml_way *way;
	uint32_t wanted;
	bool is_begun, is_first; /* first: nothing is asked yet */
	int result;              /* of the beginning */
	size_t nr;
	struct nvml_device devices[NVML_DEVICES_MAX];
};

struct nvml_devices {
	struct root root;
	struct listing listing;
	struct bounded *bounded; /* owns job */
	struct job *job;
	uint32_t fields; /* wanted, and possible */
	size_t nr;
	struct slot slots[NVML_DEVICES_MAX];
	bool is_full, is_full_noted, is_silent, is_failure_noted;
};

void nvml_devices_set(struct nvml_device *d, unsigned field, uint64_t value)
{
	d->values[field] = value;
	d->has |= 1u << field;
}

void nvml_devices_miss(struct nvml_device *d, uint32_t fields, int result)
{
	int error = nvml_errno(result);

	if (error == -ENOTSUP) {
		d->absent |= fields;
		d->unknown |= fields;
	} else if (error == -EACCES) {
		d->denied |= fields;
	} else {
		d->failed |= fields;
	}
	if (error == -ENODEV)
		d->is_lost = true;
	if (error == -ENODEV || result == NVML_ERROR_RESET_REQUIRED)
		d->result = result;
}

/* --- in the thread --------------------------------------------------------------------------- */

static int find_handle(const struct job *job, struct nvml_device *d)
{
	unsigned mode = 0, pending;
	int result = job->nvml.find ? job->nvml.find(d->address, &d->handle)
				    : job->nvml.find_v1(d->address, &d->handle);

	if (result != NVML_SUCCESS) {
		d->handle = NULL;
		return result;
	}
	d->is_divided = job->nvml.mig_mode &&
			job->nvml.mig_mode(d->handle, &mode, &pending) == NVML_SUCCESS && mode;
	if (job->way->begin)
		job->way->begin(&job->nvml, d);
	return NVML_SUCCESS;
}

static void ask(const struct job *job, struct nvml_device *d)
{
	uint32_t wanted = job->wanted & job->way->fields;

	d->has = d->denied = d->failed = 0;
	d->absent = d->unknown & wanted;
	d->result = job->result ?: d->handle ? NVML_SUCCESS : find_handle(job, d);
	d->time_ns = clock_monotonic_ns();
	if (d->result)
		nvml_devices_miss(d, wanted, d->result);
	else if (!job->is_first)
		job->way->ask(&job->nvml, d, wanted & ~d->unknown);
}

static void run(void *arg)
{
	struct job *job = arg;

	if (!job->is_begun)
		job->result = nvml_init(&job->nvml);
	job->is_begun = job->result == NVML_SUCCESS;
	for (size_t i = 0; i < job->nr; i++)
		if (job->devices[i].is_asked)
			ask(job, &job->devices[i]);
	is_hung = false;
}

static void release(void *arg)
{
	struct job *job = arg;

	for (size_t i = 0; i < job->nr && job->way->end; i++)
		job->way->end(&job->nvml, &job->devices[i]);
	mem_free(job);
}

/* --- which GPUs there are -------------------------------------------------------------------- */

/* One that is back after it was gone is found anew. */
static void add_slot(struct nvml_devices *n, const char *address)
{
	struct slot *slot = ARRAY_FIND(s, n->slots, n->nr, strcmp(s->address, address) == 0);

	if (!slot && n->nr == NVML_DEVICES_MAX) {
		n->is_full = true;
		return;
	}
	if (!slot) {
		slot = &n->slots[n->nr];
		snprintf(slot->address, sizeof(slot->address), "%s", address);
		memcpy(n->job->devices[n->nr].address, slot->address, sizeof(slot->address));
		n->job->nr = ++n->nr;
	}
	if (!slot->is_listed) {
		struct nvml_device *d = &n->job->devices[slot - n->slots];

		nvidia_name(&n->root, slot->address, slot->name);
		slot->is_lost = d->is_lost = false;
		slot->noted = NVML_SUCCESS;
		d->handle = NULL;
		d->unknown = 0;
	}
	slot->is_seen = true;
}

/* The least address that is greater; NULL: there is none. */
static const char *next_address(const struct nvml_devices *n, const char *after)
{
	const char *name, *next = NULL;
	size_t at = 0;

	while ((name = listing_each(&n->listing, &at)))
		if (nvidia_is_address(name) && strcmp(name, after) > 0 &&
		    (!next || strcmp(name, next) < 0))
			next = name;
	return next;
}

static void list_slots(struct nvml_devices *n)
{
	const char *name = "";

	for (size_t i = 0; i < n->nr; i++)
		n->slots[i].is_seen = false;
	for (size_t i = 0; i < MAX_LISTED && (name = next_address(n, name)); i++)
		add_slot(n, name);
	for (size_t i = 0; i < n->nr; i++)
		n->slots[i].is_listed = n->slots[i].is_seen;
}

/* Not while the thread is busy: then the change is found once it rests. */
static int look(void *state)
{
	struct nvml_devices *n = state;

	if (bounded_is_busy(n->bounded) || listing_look(&n->listing) <= 0)
		return 0;
	list_slots(n);
	return 1;
}

static int find_or_add(const struct slot *slot, struct listed *l)
{
	struct things *t = &l->things;
	char folder[PATH_MAX];
	struct thing *thing;
	int rc;

	if (things_find(t, slot->name, strlen(slot->name)))
		return 0;
	if (l->choice.nr && !things_match(&l->choice, slot->name))
		return 0;
	snprintf(folder, sizeof(folder), "/sys/bus/pci/devices/%s", slot->address);
	rc = things_open(t, folder, slot->name, &thing);
	if (rc == -ENOENT)
		rc = things_add(t, slot->name, strlen(slot->name), &thing);
	return rc == -ENOMEM ? rc : 0;
}

static int find(void *state, struct listed *l)
{
	const struct nvml_devices *n = state;
	int rc = 0;

	for (size_t i = 0; i < n->nr && rc == 0; i++)
		if (n->slots[i].is_listed && !n->slots[i].is_lost)
			rc = find_or_add(&n->slots[i], l);
	return rc;
}

/* --- reading --------------------------------------------------------------------------------- */

static struct thing *thing_of(const struct nvml_devices *n, size_t i, struct things *t)
{
	const struct slot *slot = &n->slots[i];

	return slot->is_listed && !slot->is_lost ? things_find(t, slot->name, strlen(slot->name))
						 : NULL;
}

static void note_result(struct slot *slot, const struct nvml_device *d, struct things *t)
{
	if (d->is_divided && !slot->is_divided)
		things_add_note(
		    t, "%s %s is divided (MIG): what it does not have as a whole is absent",
		    t->kind->name, slot->name);
	slot->is_divided = d->is_divided;
	if (d->result != slot->noted && d->result)
		things_add_note(t, "%s %s %s: %s", t->kind->name, slot->name,
				d->is_lost ? "is not read any more" : "cannot be read",
				nvml_reason(d->result));
	slot->noted = d->result;
}

static void copy(const struct nvml_devices *n, const struct nvml_device *d, struct thing *thing)
{
	thing->has = (thing->has & ~n->fields) | (d->has & n->fields);
	thing->denied = (thing->denied & ~n->fields) | d->denied;
	thing->absent = (thing->absent & ~n->fields) | d->absent;
	thing->failed = (thing->failed & ~n->fields) | d->failed;
	for (unsigned f = 0; f < THINGS_MAX_FIELDS; f++)
		if (d->has & n->fields & 1u << f)
			thing->values[f] = d->values[f];
	if (d->time_ns)
		thing->time_ns = d->time_ns;
}

static void take(struct nvml_devices *n, size_t i, struct things *t)
{
	const struct nvml_device *d = &n->job->devices[i];
	struct slot *slot = &n->slots[i];
	struct thing *thing = thing_of(n, i, t);

	if (!thing || !d->is_asked)
		return;
	note_result(slot, d, t);
	slot->is_lost = d->is_lost;
	if (d->is_lost)
		things_drop(t, thing);
	else
		copy(n, d, thing);
}

static void fail_all(struct nvml_devices *n, struct things *t)
{
	for (size_t i = 0; i < n->nr; i++) {
		struct thing *thing = thing_of(n, i, t);

		if (!thing || thing->is_asleep)
			continue;
		thing->denied &= ~n->fields;
		thing->absent &= ~n->fields;
		thing->failed |= n->fields;
	}
	if (!n->is_silent)
		things_add_note(t,
				"NVIDIA's driver has not answered for %u s: its GPUs have no values"
				" until it does",
				(unsigned)(read_ns / 1000000000));
	n->is_silent = true;
}

static void note_once(struct nvml_devices *n, struct things *t)
{
	if (n->is_full && !n->is_full_noted)
		things_add_note(t,
				"there are more than %d of NVIDIA's GPUs: the others are ignored",
				NVML_DEVICES_MAX);
	n->is_full_noted = n->is_full;
}

static int run_for(struct nvml_devices *n, uint64_t timeout_ns)
{
	int rc = bounded_run(n->bounded, timeout_ns);

	if (rc && timeout_ns)
		is_hung = true;
	return rc;
}

static int read_all(void *state, struct listed *l)
{
	struct nvml_devices *n = state;
	struct things *t = &l->things;
	bool is_any = false;

	note_once(n, t);
	if (bounded_is_busy(n->bounded)) {
		fail_all(n, t);
		return 0;
	}
	for (size_t i = 0; i < n->nr; i++) {
		const struct thing *thing = thing_of(n, i, t);

		n->job->devices[i].is_asked = thing && !thing->is_asleep;
		n->job->devices[i].has_slept |= thing && thing->is_asleep;
		is_any |= n->job->devices[i].is_asked;
	}
	if (!is_any)
		return 0;
	n->job->is_first = false;
	if (run_for(n, read_ns)) {
		fail_all(n, t);
		return 0;
	}
	n->is_silent = false;
	for (size_t i = 0; i < n->nr; i++)
		take(n, i, t);
	return 0;
}

bool nvml_devices_get(const struct nvml_devices *n, size_t i, const char **name,
		      const struct nvml_device **d, bool *is_silent)
{
	if (i >= n->nr)
		return false;
	*name = n->slots[i].name;
	*is_silent = n->is_silent && n->slots[i].is_listed && !n->slots[i].is_lost;
	*d = NULL;
	if (!n->is_silent && n->slots[i].is_listed && !n->slots[i].is_lost &&
	    n->job->devices[i].is_asked)
		*d = &n->job->devices[i];
	return true;
}

/* --- opening --------------------------------------------------------------------------------- */

/* So that what takes long is over before the first reading. One source is enough to wait. */
static void begin(struct nvml_devices *n)
{
	uint64_t most_ns = begin_ns + n->nr * begin_gpu_ns;
	bool is_any = false;

	if (most_ns > max_begin_ns)
		most_ns = max_begin_ns;

	for (size_t i = 0; i < n->nr; i++) {
		n->job->devices[i].is_asked = nvidia_is_awake(&n->root, n->slots[i].address);
		is_any |= n->job->devices[i].is_asked;
	}
	n->job->is_first = true;
	if (is_any)
		(void)run_for(n, is_hung ? 0 : most_ns);
}

static int start(struct nvml_devices *n, const struct nvml_way *way, uint32_t wanted,
		 struct err *why)
{
	struct job *job = mem_zalloc(sizeof(*job));
	int rc;

	if (!job)
		return -ENOMEM;
	job->way = way;
	job->wanted = wanted;
	rc = nvml_load(&n->root, &job->nvml, why) ?: bounded_new(run, release, job, &n->bounded);
	if (rc)
		mem_free(job);
	else
		n->job = job;
	return rc;
}

int nvml_devices_open(const struct root *root, const struct nvml_way *way, uint32_t wanted,
		      struct nvml_devices **out, struct err *why)
{
	struct nvml_devices *n = mem_zalloc(sizeof(*n));
	int rc;

	if (!n)
		return -ENOMEM;
	n->root = *root;
	n->fields = wanted & way->fields;
	n->listing.fd = -1;
	rc = listing_open(&n->listing, root, NVIDIA_GPUS);
	if (rc == -ENOENT || rc == -ENOTDIR)
		rc = -ENODEV;
	rc = rc ?: start(n, way, wanted, why);
	if (rc) {
		nvml_devices_close(n);
		return rc == -ENODEV || rc == -ENOMEM
			   ? rc
			   : err_set(why, rc, "%s: %s", NVIDIA_GPUS, strerror(-rc));
	}
	if (listing_look(&n->listing) > 0)
		list_slots(n);
	begin(n);
	*out = n;
	return 0;
}

void nvml_devices_close(void *devices)
{
	struct nvml_devices *n = devices;

	listing_close(&n->listing);
	if (n->bounded)
		bounded_close(n->bounded);
	mem_free(n);
}

const struct listed_others nvml_devices_others = {
    .look = look,
    .find = find,
    .read = read_all,
    .close = nvml_devices_close,
};
