/*
 * What the C library's streams read and write: no function of theirs calls another by name, but
 * glibc's tables of a stream's functions have the two that do the system calls. They are replaced
 * there, wherever they stand in what the loader made read-only. Where nothing is found, as in
 * another C library, streams are not counted.
 */
#include "agent/heap/resource.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct stream;

static struct {
	long (*read)(struct stream *, void *, long);
	long (*write)(struct stream *, const void *, long);
} real;

#define MOVED(of, bytes)                                                                           \
	do {                                                                                       \
		if (agent_may_want(HEAP_WANTS_IO))                                                 \
			agent_moved((of), (bytes) > 0 ? (uint64_t)(bytes) : 0, AGENT_HERE);        \
	} while (0)

static long read_stream(struct stream *of, void *to, long bytes)
{
	long r = real.read(of, to, bytes);

	MOVED(HEAP_RESOURCE_READ, r);
	return r;
}

static long write_stream(struct stream *of, const void *from, long bytes)
{
	long r = real.write(of, from, bytes);

	MOVED(HEAP_RESOURCE_WRITTEN, r);
	return r;
}

struct part {
	uint64_t within, begin, end;
};

/* The read-only part of the object that an address is in. */
static int find_part(struct dl_phdr_info *object, size_t bytes, void *to)
{
	struct part *part = to;
	bool is_it = false;

	(void)bytes;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uint64_t begin = object->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && part->within - begin < p->p_memsz)
			is_it = true;
		if (p->p_type != PT_GNU_RELRO)
			continue;
		part->begin = begin & ~(agent.page - 1); /* as the loader protects it */
		part->end = (begin + p->p_memsz) & ~(agent.page - 1);
	}
	return is_it;
}

static bool protect(const struct part *part, int how)
{
	return syscall(SYS_mprotect, (uintptr_t)part->begin, (size_t)(part->end - part->begin),
		       how) == 0;
}

static void replace(const struct part *part, uintptr_t old, uintptr_t new)
{
	uintptr_t *const end = (uintptr_t *)(uintptr_t)part->end;

	for (uintptr_t *at = (uintptr_t *)(uintptr_t)part->begin; at < end; at++)
		if (*at == old)
			__atomic_store_n(at, new, __ATOMIC_RELAXED);
}

void agent_stdio_init(void)
{
	void *read = dlsym(RTLD_NEXT, "_IO_file_read"), *write = dlsym(RTLD_NEXT, "_IO_file_write");
	struct part part = {.within = (uintptr_t)read};

	if (real.read || !read || !write || !dl_iterate_phdr(find_part, &part) ||
	    part.begin >= part.end || !protect(&part, PROT_READ | PROT_WRITE))
		return;
	memcpy(&real.read, &read, sizeof(read));
	memcpy(&real.write, &write, sizeof(write));
	replace(&part, (uintptr_t)read, (uintptr_t)read_stream);
	replace(&part, (uintptr_t)write, (uintptr_t)write_stream);
	(void)protect(&part, PROT_READ);
}
