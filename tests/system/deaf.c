/*
 * A file system whose program never answers a read: mounts it at the folder (argv[1]/fuse), has a
 * file of it mapped for execution by a child that never touches it, and answers all but the reads.
 * With a second argument the file is mapped by way of an overlay over the folder, whose type says
 * nothing of FUSE. Prints the child's pid; ends with its input. Exits with 77 where it may not
 * mount.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILE_NODE = 2, FILE_BYTES = 1 << 16, REQUEST_BYTES = 1 << 18 };

static int device;

static void answer(const struct fuse_in_header *in, int error, const void *data, size_t len)
{
	char out[4096];
	struct fuse_out_header *head = (void *)out;

	*head = (struct fuse_out_header){
	    .len = (uint32_t)(sizeof(*head) + len), .error = error, .unique = in->unique};
	if (len)
		memcpy(head + 1, data, len);
	if (write(device, out, head->len) < 0 && errno != ENOENT)
		exit(1);
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr a = {.ino = node, .nlink = 1, .blksize = 4096, .mode = S_IFDIR | 0755};

	if (node == FILE_NODE) {
		a.mode = S_IFREG | 0755;
		a.size = FILE_BYTES;
	}
	return a;
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out out = {.nodeid = FILE_NODE, .entry_valid = 1000, .attr_valid = 1000};

	out.attr = attr_of(FILE_NODE);
	if (strcmp(name, "deaf.so") == 0)
		answer(in, 0, &out, sizeof(out));
	else
		answer(in, -ENOENT, NULL, 0);
}

static void serve(const struct fuse_in_header *in)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = 4096};
	struct fuse_attr_out attr = {.attr_valid = 1000, .attr = attr_of(in->nodeid)};
	struct fuse_open_out open = {.fh = 1};
	struct fuse_statfs_out statfs = {.st = {.bsize = 4096, .namelen = 255}};

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		look_up(in, (const char *)(in + 1));
		break;
	case FUSE_GETATTR:
		answer(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in, 0, &open, sizeof(open));
		break;
	case FUSE_STATFS:
		answer(in, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_READDIR:
		answer(in, 0, NULL, 0);
		break;
	case FUSE_READ: /* never */
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(in, -ENOSYS, NULL, 0);
	}
}

static void path_of(char out[512], const char *folder, const char *name)
{
	snprintf(out, 512, "%s/%s", folder, name);
}

/* In the child. */
static void map(const char *folder, int by_overlay)
{
	char path[512], options[1400];
	int fd;

	close(device); /* else its own end, which flushes the file, waits for an answer for ever */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "deaf child");
	snprintf(options, sizeof(options), "lowerdir=%s/fuse:%s/empty", folder, folder);
	path_of(path, folder, "over");
	if (by_overlay && mount("deaf", path, "overlay", MS_RDONLY, options))
		_exit(77);
	path_of(path, folder, by_overlay ? "over/deaf.so" : "fuse/deaf.so");
	fd = open(path, O_RDONLY);
	if (fd < 0 ||
	    mmap(NULL, FILE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	printf("%d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}

static int mount_it(const char *folder)
{
	char path[512], options[128];

	path_of(path, folder, "fuse");
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0", device);
	return device < 0 || mount("deaf", path, "fuse", MS_NOSUID, options) ? -1 : 0;
}

int main(int argc, char **argv)
{
	static _Alignas(8) char request[REQUEST_BYTES];
	int status = 0;
	pid_t child;

	if (argc < 2 || mount_it(argv[1])) {
		fprintf(stderr, "no FUSE: %s\n", strerror(errno));
		return 77;
	}
	child = fork();
	if (child == 0)
		map(argv[1], argc > 2);
	for (;;) {
		struct pollfd p[] = {{.fd = device, .events = POLLIN}, {.fd = 0, .events = POLLIN}};

		if (poll(p, 2, 1000) < 0 || p[1].revents || waitpid(child, &status, WNOHANG))
			break;
		if (p[0].revents && read(device, request, sizeof(request)) > 0)
			serve((const void *)request);
	}
	kill(child, SIGKILL); /* the connection ends with this process, and who waits goes on */
	return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}
