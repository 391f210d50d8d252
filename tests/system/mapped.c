/*
 * mapped FILE: a program whose mappings are known. Goes to the next stage for each line of its
 * standard input, and says "ready" when it is there; ends with its input. FILE is written.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static char *map(size_t size, int flags, int fd)
{
	char *p = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (p == MAP_FAILED)
		_exit(1);
	return p;
}

/* 4 of 8 MiB are written, in small pages. A hole of one page follows, so that no other joins it. */
static char *map_anonymous(void)
{
	char *p = map(8 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	madvise(p, 8 * MIB, MADV_NOHUGEPAGE);
	memset(p, 1, 4 * MIB);
	return p;
}

/* Huge pages, where they are permitted. */
static void map_huge(void)
{
	char *p = map(8 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	p = (char *)(((uintptr_t)p + 2 * MIB - 1) & ~(uintptr_t)(2 * MIB - 1));
	madvise(p, 4 * MIB, MADV_HUGEPAGE);
	memset(p, 1, 4 * MIB);
}

/* 1 of 4 MiB of the file is written, in a copy of its own. */
static void map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char *p;

	if (fd < 0 || ftruncate(fd, 4 * MIB))
		_exit(2);
	p = map(4 * MIB, MAP_PRIVATE, fd);
	memset(p, 1, MIB);
	close(fd);
}

/* 1 of 2 MiB are written. */
static void map_shared(void)
{
	int fd = memfd_create("known", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 2 * MIB))
		_exit(3);
	memset(map(2 * MIB, MAP_SHARED, fd), 1, MIB);
	close(fd);
}

static void wait_for_line(void)
{
	char c = 0;

	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		_exit(4);
	while (c != '\n')
		if (read(STDIN_FILENO, &c, 1) != 1)
			_exit(0);
}

int main(int argc, char **argv)
{
	char *p;

	if (argc < 2)
		return 5;
	(void)sbrk(0);
	wait_for_line();
	p = map_anonymous();
	map_huge();
	map_file(argv[1]);
	map_shared();
	memset(sbrk(3 * MIB), 1, 3 * MIB);
	wait_for_line();
	munmap(p, 8 * MIB);
	wait_for_line();
	return 0;
}
