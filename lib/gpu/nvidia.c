/*
 * Clients of NVIDIA's GPUs: the processes that its library lists, each one client of each GPU. It
 * has their memory, and how busy they kept the GPU in the last moments, but no counters.
 */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "gpu/clients.h"
#include "gpu/gpu.h"
#include "gpu/nvml_processes.h"

#include <errno.h>
#include <string.h>

#define BIT(n) (1u << (n))

/* Of a GPU, in the list of things below. */
enum { AWAKE = GPU_AWAKE, LIST, NR_FIELDS };

/* A process that a GPU had at the last reading, and its client's number. */
struct known {
	uint32_t pid;
	uint64_t id;
};

struct list {
	struct known *known; /* owned; ascending by pid */
	size_t nr, room;
};

struct nvidia {
	void *things; /* struct listed, which owns devices */
	struct nvml_devices *devices;
	uint64_t next_id;
	struct list lists[NVML_DEVICES_MAX], next; /* next: the one that is being made */
};

/* --- in the thread that asks ------------------------------------------------------------------ */

static void ask(const struct nvml *n, struct nvml_device *d, uint32_t wanted)
{
	struct nvml_processes *p = d->own;
	int rc;

	if (!p)
		d->own = p = mem_zalloc(sizeof(*p));
	rc = p ? nvml_processes_read(n, d->handle, p) : NVML_ERROR_MEMORY;
	if (rc)
		nvml_devices_miss(d, wanted, rc);
	else
		nvml_devices_set(d, LIST, p->nr);
}

static void end(const struct nvml *n, struct nvml_device *d)
{
	struct nvml_processes *p = d->own;

	(void)n;
	if (p)
		nvml_processes_fini(p);
	mem_free(p);
}

static const struct nvml_way way = {.fields = BIT(LIST), .ask = ask, .end = end};

static const struct things_file files[] = {
    {.name = "power/runtime_status", .fields = BIT(AWAKE), .parse = gpu_parse_status},
};
static const struct things_kind kind = {
    .name = "GPU", .files = files, .nr_files = ARRAY_NR(files), .always = BIT(AWAKE)};

/* --- clients ---------------------------------------------------------------------------------- */

/* A process keeps its number while it is listed. */
static int keep(struct nvidia *v, const struct list *before, uint32_t pid, uint64_t *id)
{
	const struct known *was = ARRAY_FIND(k, before->known, before->nr, k->pid == pid);
	struct known *now = MEM_ADD(v->next.known, v->next.nr, v->next.room);

	if (!now)
		return -ENOMEM;
	*now = (struct known){pid, was ? was->id : v->next_id++};
	*id = now->id;
	return 0;
}

static int add(struct nvidia *v, struct gpu_clients *c, const struct list *before,
	       const char *device, const struct nvml_process_use *use)
{
	struct gpu_client client = {
	    .device = device,
	    .process = use->pid,
	    .pid = use->pid,
	    .place = UINT32_MAX - (uint32_t)(before - v->lists), /* no descriptor */
	    .has_memory = use->has_memory,
	    .memory = use->memory,
	    .has_busy = use->has_busy,
	    .busy = use->busy,
	};

	return keep(v, before, use->pid, &client.id) ?: gpu_clients_add(c, &client);
}

static int fail(const struct nvidia *v, struct gpu_clients *c, const struct list *list)
{
	return ARRAY_RUN(i, list->nr,
			 gpu_clients_fail(c, list->known[i].pid, list->known[i].pid,
					  UINT32_MAX - (uint32_t)(list - v->lists), -EIO));
}

static int add_all(struct nvidia *v, struct gpu_clients *c, struct list *list, const char *device,
		   const struct nvml_processes *p)
{
	struct list before;
	int rc;

	v->next.nr = 0;
	rc = ARRAY_RUN(i, p->nr, add(v, c, list, device, &p->list[i]));
	if (rc)
		return rc;
	before = *list;
	*list = v->next;
	v->next = before;
	return 0;
}

static int nvidia_read(void *state, struct gpu_clients *c)
{
	struct nvidia *v = state;
	const struct nvml_device *d;
	bool is_silent;
	const char *name, *note;
	int rc = listed_read(v->things);

	for (size_t i = 0; rc == 0 && nvml_devices_get(v->devices, i, &name, &d, &is_silent); i++) {
		if (d && d->has & BIT(LIST))
			rc = add_all(v, c, &v->lists[i], name, d->own);
		else if (is_silent || (d && d->failed))
			rc = fail(v, c, &v->lists[i]);
		else
			v->lists[i].nr = 0;
	}
	while ((note = things_note(v->things)))
		gpu_clients_note(c, "%s", note);
	return rc;
}

static void nvidia_close(void *state)
{
	struct nvidia *v = state;

	listed_close(v->things);
	for (size_t i = 0; i < ARRAY_NR(v->lists); i++)
		mem_free(v->lists[i].known);
	mem_free(v->next.known);
	mem_free(v);
}

static int nvidia_open(const struct root *root, void *proc, void **state, struct err *e)
{
	struct listed draft = {.others = &nvml_devices_others};
	struct nvidia *v = mem_zalloc(sizeof(*v));
	struct err why = {0};
	int rc = v ? nvml_devices_open(root, &way, BIT(LIST), &v->devices, &why) : -ENOMEM;

	(void)proc;
	if (rc) {
		mem_free(v);
		if (rc == -ENODEV)
			return err_set(e, -ENOENT, "there is no GPU with NVIDIA's own driver");
		return err_set(e, rc, "%s", why.code ? why.msg : "GPUs: out of memory");
	}
	draft.others_state = v->devices;
	rc = listed_open(&draft, &kind, root, BIT(LIST), "GPUs", &v->things, e);
	if (rc)
		mem_free(v);
	else
		*state = v;
	return rc;
}

const struct gpu_client_maker gpu_nvidia_maker = {
    .open = nvidia_open,
    .close = nvidia_close,
    .read = nvidia_read,
};
