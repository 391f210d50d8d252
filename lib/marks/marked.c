/*
 * Mappings, notes, words.
 */
#include "marks/marked.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/sys.h"
#include "elf/image.h"
#include "proc/maps.h"
#include "proc/proc.h"
#include "wire/wire.h"

#define CPUPERF_NO_MARKS /* the layout alone */
#include "cpuperf/mark.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

enum {
	MAX_MAPS_BYTES = 64 << 20,
	MAX_MAPPINGS = 1 << 18,
	NOTE_BYTES = 16, /* u32 version, u32 0, i64 distance to the state */
	NOTE_DISTANCE = 8,
	LINK_BYTES = 64,
};

struct marked_word {
	uint64_t address;
	uint32_t pid, unused; /* the end of the key */
	uint32_t result;      /* enum result */
};

enum result { IS_SET, IS_OLD, IS_BUSY, IS_DENIED, IS_APART };

/* A process while it is looked at. */
struct look {
	struct marked *m;
	uint32_t pid;
	int mem;
	bool is_apart;
	struct proc_mapping *maps; /* owned */
	size_t nr;
	const struct proc_mapping *object; /* the first mapping of the current one */
};

void marked_init(struct marked *m, const struct root *root, uint32_t number)
{
	*m = (struct marked){.root = root, .number = number};
	dict_init(&m->words, sizeof(struct marked_word), DICT_KEY(struct marked_word, unused),
		  MARKED_MAX_WORDS);
}

void marked_fini(struct marked *m)
{
	dict_fini(&m->words);
}

static int open_memory(const struct marked *m, uint32_t pid, int flags)
{
	char path[PATH_MAX];
	int rc = proc_path(PROC(m->root, pid), "mem", path, sizeof(path));

	return rc < 0 ? rc : sys()->openat(AT_FDCWD, path, flags | O_CLOEXEC, 0);
}

static int read_memory(void *arg, uint64_t address, void *to, size_t len)
{
	const struct look *l = arg;
	ssize_t got;

	if (address > INT64_MAX)
		return -EINVAL;
	got = sys()->pread(l->mem, to, len, (off_t)address);
	return got < 0 ? (int)got : (size_t)got == len ? 0 : -EIO;
}

/* The mapping of the object's own file in which the state lies, as a program's data. */
static bool is_in_data(const struct look *l, uint64_t address)
{
	const size_t len = sizeof(struct cpuperf_mark_state);

	for (size_t i = 0; i < l->nr; i++) {
		const struct proc_mapping *at = &l->maps[i];

		if (address < at->start || address >= at->end)
			continue;
		return len <= at->end - address && (at->prot & PROC_MAPS_WRITE) && !at->is_shared &&
		       at->inode == l->object->inode && at->major == l->object->major &&
		       at->minor == l->object->minor;
	}
	return false;
}

/* Sets the word of a state, of which the beginning was read. */
static enum result set_word(const struct look *l, uint64_t address,
			    const struct cpuperf_mark_state *state)
{
	const uint64_t word = address + offsetof(struct cpuperf_mark_state, on);
	uint32_t number = l->m->number;
	int fd, rc;

	if (state->version != CPUPERF_MARK_VERSION)
		return IS_OLD;
	if (state->on == number && state->connected == number)
		return IS_SET;
	if (l->is_apart)
		return IS_APART;
	if (state->on && state->on != number && wire_is_there(state->on))
		return IS_BUSY;
	fd = open_memory(l->m, l->pid, O_RDWR);
	if (fd < 0)
		return IS_DENIED;
	rc = sys()->pwrite(fd, &number, sizeof(number), (off_t)word) == sizeof(number) ? 0 : -EIO;
	sys()->close(fd);
	return rc ? IS_DENIED : IS_SET;
}

static int on_note(void *arg, uint64_t address, const uint8_t *content, size_t len)
{
	const struct look *l = arg;
	struct marked_word key = {.pid = l->pid}, *word;
	struct cpuperf_mark_state state;
	size_t nr = l->m->words.nr;
	int64_t distance;

	if (len != NOTE_BYTES)
		return 0;
	memcpy(&distance, content + NOTE_DISTANCE, sizeof(distance));
	key.address = address + NOTE_DISTANCE + (uint64_t)distance;
	if (key.address % sizeof(uint64_t) || !is_in_data(l, key.address) ||
	    read_memory(arg, key.address, &state, sizeof(state)) ||
	    state.magic != CPUPERF_MARK_MAGIC)
		return 0;
	word = dict_get(&l->m->words, &key);
	if (!word || (l->m->words.nr == nr && (word->result != IS_SET || state.on)))
		return 0; /* known, as it was; an exec may have put another object there */
	word->result = set_word(l, key.address, &state);
	l->m->nr_old += word->result == IS_OLD;
	l->m->nr_busy += word->result == IS_BUSY;
	l->m->nr_denied += word->result == IS_DENIED;
	l->m->nr_apart += word->result == IS_APART;
	return 0;
}

static int read_maps(struct look *l, struct buf *text)
{
	struct proc_mapping one, *to;
	size_t room = 0;
	int rc = proc_load(PROC(l->m->root, l->pid), "maps", text) ?: buf_error(text);
	const char *at = buf_str(text), *end = at + text->len;

	while (rc == 0 && proc_maps_next(&at, end, &one)) {
		to = l->nr < MAX_MAPPINGS ? MEM_ADD(l->maps, l->nr, room) : NULL;
		if (!to)
			return -ENOMEM;
		*to = one;
	}
	return rc;
}

/* Whether the process cannot reach the recorder's socket. */
static bool is_apart(const struct marked *m, uint32_t pid)
{
	char own[LINK_BYTES], other[LINK_BYTES];

	return proc_read_link(PROC_SELF(m->root), "ns/net", own, sizeof(own)) > 0 &&
	       proc_read_link(PROC(m->root, pid), "ns/net", other, sizeof(other)) > 0 &&
	       strcmp(own, other) != 0;
}

int marked_look(struct marked *m, uint32_t pid)
{
	struct look l = {.m = m, .pid = pid};
	BUF_AUTO(text, MAX_MAPS_BYTES);
	int rc = read_maps(&l, &text);

	l.mem = rc ? -1 : open_memory(m, pid, O_RDONLY);
	rc = rc ?: l.mem < 0 ? l.mem : 0;
	l.is_apart = rc == 0 && is_apart(m, pid);
	for (size_t i = 0; i < l.nr && rc == 0; i++) {
		const struct elf_image image = {read_memory, &l, l.maps[i].start};

		l.object = &l.maps[i];
		if (!l.object->inode || l.object->offset || !(l.object->prot & PROC_MAPS_READ))
			continue;
		if (elf_image_each_note(&image, "cpuperf", CPUPERF_MARK_NOTE, on_note, &l) ==
		    -ENOMEM)
			rc = -ENOMEM;
	}
	if (l.mem >= 0)
		sys()->close(l.mem);
	mem_free(l.maps);
	return rc;
}

bool marked_has(const struct marked *m, uint32_t pid)
{
	for (uint32_t i = 0; i < m->words.nr; i++) {
		const struct marked_word *word = dict_at(&m->words, i);

		if (word->pid == pid && word->result == IS_SET)
			return true;
	}
	return false;
}

/* The number is random: memory that holds it after the magic number is still the object's. */
static void unset_word(const struct marked *m, const struct marked_word *word)
{
	const uint64_t at = word->address + offsetof(struct cpuperf_mark_state, on);
	struct cpuperf_mark_state state;
	uint32_t off = 0;
	int fd = open_memory(m, word->pid, O_RDWR);

	if (fd < 0)
		return;
	if (sys()->pread(fd, &state, sizeof(state), (off_t)word->address) == sizeof(state) &&
	    state.magic == CPUPERF_MARK_MAGIC && state.version == CPUPERF_MARK_VERSION &&
	    state.on == m->number && !state.connected)
		(void)sys()->pwrite(fd, &off, sizeof(off), (off_t)at);
	sys()->close(fd);
}

void marked_end(struct marked *m)
{
	for (uint32_t i = 0; i < m->words.nr; i++) {
		const struct marked_word *word = dict_at(&m->words, i);

		if (word->result == IS_SET)
			unset_word(m, word);
	}
}
