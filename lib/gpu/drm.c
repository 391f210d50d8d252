/*
 * Clients of DRM: the descriptors that are open on its devices, and the fdinfo of each.
 */
#include "base/array.h"
#include "base/err.h"
#include "base/mem.h"
#include "gpu/cards.h"
#include "gpu/clients.h"
#include "gpu/find.h"

#include <errno.h>
#include <string.h>

struct drm {
	struct root root;
	struct gpu_cards cards;
	struct gpu_find *find;
	unsigned nr_unknown; /* clients of no card that is known */
	size_t nr_denied_noted, nr_failed_noted;
	bool was_by_kernel, is_full_noted;
	char text[GPU_FDINFO_MAX_BYTES];
	struct gpu_fdinfo info;
};

static int drm_open(const struct root *root, void *proc, void **state, struct err *e)
{
	struct drm *d = mem_zalloc(sizeof(*d));
	int rc;

	if (!d)
		return err_set(e, -ENOMEM, "GPUs: out of memory");
	d->root = *root;
	rc = gpu_cards_load(&d->cards, root) ?: gpu_find_open(root, proc, GPU_FIND_MAJOR, &d->find);
	if (rc == 0) {
		*state = d;
		return 0;
	}
	gpu_cards_fini(&d->cards);
	mem_free(d);
	if (rc == -ENOENT)
		return err_set(e, rc, "there is no GPU with a driver of the kernel's (DRM)");
	return err_set(e, rc, "GPUs: /sys/class/drm and /proc cannot be read: %s", strerror(-rc));
}

static void drm_close(void *state)
{
	struct drm *d = state;

	gpu_cards_fini(&d->cards);
	gpu_find_close(d->find);
	mem_free(d);
}

/* Open files that were read in this reading: a set of their numbers. */
struct read_files {
	uint64_t *slots; /* owned */
	size_t mask;
};

static int open_set(struct read_files *s, size_t nr)
{
	size_t room = 16;

	while (room < 2 * nr)
		room *= 2;
	s->slots = mem_calloc(room, sizeof(*s->slots));
	s->mask = room - 1;
	return s->slots ? 0 : -ENOMEM;
}

/* The slot of the file, or the free one for it. */
static uint64_t *find_slot(const struct read_files *s, uint64_t file)
{
	size_t at = (file * UINT64_C(0x9e3779b97f4a7c15)) >> 32 & s->mask;

	while (s->slots[at] && s->slots[at] != file)
		at = (at + 1) & s->mask;
	return &s->slots[at];
}

/* The card, or what the text says of the device. Cards may be new. */
static const char *device_of(struct drm *d, uint32_t minor)
{
	enum { SELDOM = 16 };
	const struct gpu_fdinfo *f = &d->info;
	const char *card = gpu_cards_find(&d->cards, f->pdev, minor);

	if (!card && d->nr_unknown++ % SELDOM == 0 && gpu_cards_load(&d->cards, &d->root) == 0)
		card = gpu_cards_find(&d->cards, f->pdev, minor);
	return card ? card : f->pdev[0] ? f->pdev : f->driver;
}

static bool is_gone(int rc)
{
	return rc == -ENOENT || rc == -ESRCH;
}

/* 0; -ENOENT: no client of a GPU; or -errno. */
static int load(struct drm *d, const struct gpu_file *file)
{
	ssize_t n = gpu_find_load(d->find, file, d->text, sizeof(d->text));

	return n < 0 ? (int)n : gpu_fdinfo_parse(d->text, (size_t)n, &d->info);
}

static int add(struct drm *d, struct gpu_clients *c, const struct gpu_file *file)
{
	struct gpu_client client = {.device = device_of(d, file->minor),
				    .id = d->info.client,
				    .process = file->process,
				    .pid = file->pid,
				    .place = file->fd,
				    .engines = d->info.engines,
				    .nr_engines = d->info.nr_engines};

	client.has_memory = gpu_fdinfo_own_memory(&d->info, &client.memory);
	client.has_memory_machine = gpu_fdinfo_machine_memory(&d->info, &client.memory_machine);
	return gpu_clients_add(c, &client);
}

static int read_file(struct drm *d, struct gpu_clients *c, const struct gpu_file *file,
		     const struct read_files *done)
{
	uint64_t *slot = file->file ? find_slot(done, file->file) : NULL;
	int rc;

	if (slot && *slot)
		return 0;
	rc = load(d, file);
	if (is_gone(rc))
		return 0;
	if (rc)
		return rc == -ENOMEM ? rc
				     : gpu_clients_fail(c, file->process, file->pid, file->fd, rc);
	if (slot)
		*slot = file->file;
	return add(d, c, file);
}

static void note(struct drm *d, struct gpu_clients *c)
{
	int error = 0;
	size_t nr_denied = gpu_find_nr_denied(d->find);
	size_t nr_failed = gpu_find_nr_failed(d->find, &error);

	if (nr_denied > 2 * d->nr_denied_noted) {
		d->nr_denied_noted = nr_denied;
		gpu_clients_note(c,
				 "the open files of %zu processes cannot be read: what they use of "
				 "GPUs is in no number; needs their user, or CAP_SYS_PTRACE",
				 nr_denied);
	}
	if (nr_failed > 2 * d->nr_failed_noted) {
		d->nr_failed_noted = nr_failed;
		gpu_clients_note(c,
				 "the open files of %zu processes could not be read: what they use "
				 "of GPUs is in no number: %s",
				 nr_failed, strerror(-error));
	}
	if (d->was_by_kernel && !gpu_find_is_by_kernel(d->find))
		gpu_clients_note(c, "the iterator over open files fails: those of GPUs are found "
				    "by /proc/*/fd from now on, which is slower");
	d->was_by_kernel = gpu_find_is_by_kernel(d->find);
	if (gpu_find_is_full(d->find) && !d->is_full_noted) {
		d->is_full_noted = true;
		gpu_clients_note(c, "GPUs are open more than %d times: the others are ignored",
				 GPU_FIND_MAX);
	}
}

static int drm_read(void *state, struct gpu_clients *c)
{
	struct drm *d = state;
	struct read_files done;
	const struct gpu_file *list;
	size_t nr;
	int rc = gpu_find_read(d->find);

	if (rc)
		return rc;
	list = gpu_find_list(d->find, &nr);
	rc = open_set(&done, nr);
	if (rc)
		return rc;
	rc = ARRAY_RUN(i, nr, read_file(d, c, &list[i], &done));
	mem_free(done.slots);
	note(d, c);
	return rc;
}

static int drm_use_kernel(void *state, struct err *why)
{
	struct drm *d = state;
	int rc = gpu_find_use_kernel(d->find, why);

	d->was_by_kernel = gpu_find_is_by_kernel(d->find);
	return rc;
}

static const char *drm_way(const void *state)
{
	const struct drm *d = state;

	return gpu_find_is_by_kernel(d->find) ? "BPF: iterator over open files" : NULL;
}

const struct gpu_client_maker gpu_drm_maker = {
    .open = drm_open,
    .close = drm_close,
    .read = drm_read,
    .use_kernel = drm_use_kernel,
    .way = drm_way,
};
