/*
 * /proc/kcore is an ELF file whose segments are ranges of the kernel's addresses. It has no usable
 * size, and is too large for elf/file.h.
 */
#include "annotate/kernel.h"

#include "base/err.h"
#include "base/mem.h"
#include "base/root.h"
#include "base/sys.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum { MAX_SEGMENTS = 4096 };

static const char path[] = "/proc/kcore";

struct annotate_kernel {
	int fd;
	uint16_t machine;
	Elf64_Phdr *segment; /* owned */
	size_t nr;
};

static bool read_all(int fd, void *to, size_t len, uint64_t at)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = at + done <= INT64_MAX ? sys()->pread(fd, (char *)to + done, len - done,
								  (off_t)(at + done))
						   : -EOVERFLOW;

		if (n <= 0)
			return false;
		done += (size_t)n;
	}
	return true;
}

static int decode(struct annotate_kernel *k)
{
	Elf64_Ehdr head;

	if (!read_all(k->fd, &head, sizeof(head), 0) ||
	    memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_phentsize != sizeof(Elf64_Phdr) ||
	    !head.e_phnum || head.e_phnum > MAX_SEGMENTS)
		return -EINVAL;
	k->machine = head.e_machine;
	k->nr = head.e_phnum;
	k->segment = mem_calloc(k->nr, sizeof(*k->segment));
	if (!k->segment)
		return -ENOMEM;
	return read_all(k->fd, k->segment, k->nr * sizeof(*k->segment), head.e_phoff) ? 0 : -EINVAL;
}

int annotate_kernel_open(const struct root *root, struct annotate_kernel **out, struct err *e)
{
	struct annotate_kernel *k = mem_zalloc(sizeof(*k));
	int rc;

	if (!k)
		return err_set_at(e, -ENOMEM, path, 0, 0, "cannot be read: out of memory");
	k->fd = root_open(root, path);
	rc = k->fd < 0 ? k->fd : decode(k);
	if (rc == 0) {
		*out = k;
		return 0;
	}
	annotate_kernel_close(k);
	err_set_at(e, rc, path, 0, 0, "kernel functions have no instructions: %s",
		   rc == -EINVAL ? "not a 64-bit image of the kernel" : strerror(-rc));
	err_hint(e, "root may read it, unless the kernel is locked down");
	return rc;
}

void annotate_kernel_close(struct annotate_kernel *k)
{
	if (!k)
		return;
	if (k->fd >= 0)
		sys()->close(k->fd);
	mem_free(k->segment);
	mem_free(k);
}

uint16_t annotate_kernel_machine(const struct annotate_kernel *k)
{
	return k->machine;
}

size_t annotate_kernel_read(const struct annotate_kernel *k, uint64_t address, void *to, size_t len)
{
	for (size_t i = 0; i < k->nr; i++) {
		const Elf64_Phdr *s = &k->segment[i];
		uint64_t at = address - s->p_vaddr;

		if (s->p_type != PT_LOAD || address < s->p_vaddr || at >= s->p_filesz ||
		    s->p_offset > UINT64_MAX - at)
			continue;
		if (len > s->p_filesz - at)
			len = (size_t)(s->p_filesz - at);
		return read_all(k->fd, to, len, s->p_offset + at) ? len : 0;
	}
	return 0;
}
