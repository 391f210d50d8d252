/*
 * The group latency: histograms made by programs in the kernel (bpf/latency.h). System calls have
 * the names of the kernel's headers.
 */
#include "base/arena.h"
#include "base/array.h"
#include "base/perf_abi.h"
#include "event/catalogue.h"
#include "host/host.h"

#include <errno.h>
#include <string.h>

static const char PREFIX[] = "syscall.";

/* The numbers in arch/x86/entry/syscalls/syscall_64.tbl, and on arm64; -1: there is none. */
static const struct syscall_row {
	const char *name;
	int16_t x86, arm64;
} syscalls[] = {
    {"_sysctl", 156, -1},
    {"accept", 43, 202},
    {"accept4", 288, 242},
    {"access", 21, -1},
    {"acct", 163, 89},
    {"add_key", 248, 217},
    {"adjtimex", 159, 171},
    {"afs_syscall", 183, -1},
    {"alarm", 37, -1},
    {"arch_prctl", 158, -1},
    {"bind", 49, 200},
    {"bpf", 321, 280},
    {"brk", 12, 214},
    {"cachestat", 451, 451},
    {"capget", 125, 90},
    {"capset", 126, 91},
    {"chdir", 80, 49},
    {"chmod", 90, -1},
    {"chown", 92, -1},
    {"chroot", 161, 51},
    {"clock_adjtime", 305, 266},
    {"clock_getres", 229, 114},
    {"clock_gettime", 228, 113},
    {"clock_nanosleep", 230, 115},
    {"clock_settime", 227, 112},
    {"clone", 56, 220},
    {"clone3", 435, 435},
    {"close", 3, 57},
    {"close_range", 436, 436},
    {"connect", 42, 203},
    {"copy_file_range", 326, 285},
    {"creat", 85, -1},
    {"create_module", 174, -1},
    {"delete_module", 176, 106},
    {"dup", 32, 23},
    {"dup2", 33, -1},
    {"dup3", 292, 24},
    {"epoll_create", 213, -1},
    {"epoll_create1", 291, 20},
    {"epoll_ctl", 233, 21},
    {"epoll_ctl_old", 214, -1},
    {"epoll_pwait", 281, 22},
    {"epoll_pwait2", 441, 441},
    {"epoll_wait", 232, -1},
    {"epoll_wait_old", 215, -1},
    {"eventfd", 284, -1},
    {"eventfd2", 290, 19},
    {"execve", 59, 221},
    {"execveat", 322, 281},
    {"exit", 60, 93},
    {"exit_group", 231, 94},
    {"faccessat", 269, 48},
    {"faccessat2", 439, 439},
    {"fadvise64", 221, 223},
    {"fallocate", 285, 47},
    {"fanotify_init", 300, 262},
    {"fanotify_mark", 301, 263},
    {"fchdir", 81, 50},
    {"fchmod", 91, 52},
    {"fchmodat", 268, 53},
    {"fchmodat2", 452, 452},
    {"fchown", 93, 55},
    {"fchownat", 260, 54},
    {"fcntl", 72, 25},
    {"fdatasync", 75, 83},
    {"fgetxattr", 193, 10},
    {"file_getattr", 468, 468},
    {"file_setattr", 469, 469},
    {"finit_module", 313, 273},
    {"flistxattr", 196, 13},
    {"flock", 73, 32},
    {"fork", 57, -1},
    {"fremovexattr", 199, 16},
    {"fsconfig", 431, 431},
    {"fsetxattr", 190, 7},
    {"fsmount", 432, 432},
    {"fsopen", 430, 430},
    {"fspick", 433, 433},
    {"fstat", 5, 80},
    {"fstatfs", 138, 44},
    {"fsync", 74, 82},
    {"ftruncate", 77, 46},
    {"futex", 202, 98},
    {"futex_requeue", 456, 456},
    {"futex_wait", 455, 455},
    {"futex_waitv", 449, 449},
    {"futex_wake", 454, 454},
    {"futimesat", 261, -1},
    {"get_kernel_syms", 177, -1},
    {"get_mempolicy", 239, 236},
    {"get_robust_list", 274, 100},
    {"get_thread_area", 211, -1},
    {"getcpu", 309, 168},
    {"getcwd", 79, 17},
    {"getdents", 78, -1},
    {"getdents64", 217, 61},
    {"getegid", 108, 177},
    {"geteuid", 107, 175},
    {"getgid", 104, 176},
    {"getgroups", 115, 158},
    {"getitimer", 36, 102},
    {"getpeername", 52, 205},
    {"getpgid", 121, 155},
    {"getpgrp", 111, -1},
    {"getpid", 39, 172},
    {"getpmsg", 181, -1},
    {"getppid", 110, 173},
    {"getpriority", 140, 141},
    {"getrandom", 318, 278},
    {"getresgid", 120, 150},
    {"getresuid", 118, 148},
    {"getrlimit", 97, 163},
    {"getrusage", 98, 165},
    {"getsid", 124, 156},
    {"getsockname", 51, 204},
    {"getsockopt", 55, 209},
    {"gettid", 186, 178},
    {"gettimeofday", 96, 169},
    {"getuid", 102, 174},
    {"getxattr", 191, 8},
    {"getxattrat", 464, 464},
    {"init_module", 175, 105},
    {"inotify_add_watch", 254, 27},
    {"inotify_init", 253, -1},
    {"inotify_init1", 294, 26},
    {"inotify_rm_watch", 255, 28},
    {"io_cancel", 210, 3},
    {"io_destroy", 207, 1},
    {"io_getevents", 208, 4},
    {"io_pgetevents", 333, 292},
    {"io_setup", 206, 0},
    {"io_submit", 209, 2},
    {"io_uring_enter", 426, 426},
    {"io_uring_register", 427, 427},
    {"io_uring_setup", 425, 425},
    {"ioctl", 16, 29},
    {"ioperm", 173, -1},
    {"iopl", 172, -1},
    {"ioprio_get", 252, 31},
    {"ioprio_set", 251, 30},
    {"kcmp", 312, 272},
    {"kexec_file_load", 320, 294},
    {"kexec_load", 246, 104},
    {"keyctl", 250, 219},
    {"kill", 62, 129},
    {"landlock_add_rule", 445, 445},
    {"landlock_create_ruleset", 444, 444},
    {"landlock_restrict_self", 446, 446},
    {"lchown", 94, -1},
    {"lgetxattr", 192, 9},
    {"link", 86, -1},
    {"linkat", 265, 37},
    {"listen", 50, 201},
    {"listmount", 458, 458},
    {"listxattr", 194, 11},
    {"listxattrat", 465, 465},
    {"llistxattr", 195, 12},
    {"lookup_dcookie", 212, 18},
    {"lremovexattr", 198, 15},
    {"lseek", 8, 62},
    {"lsetxattr", 189, 6},
    {"lsm_get_self_attr", 459, 459},
    {"lsm_list_modules", 461, 461},
    {"lsm_set_self_attr", 460, 460},
    {"lstat", 6, -1},
    {"madvise", 28, 233},
    {"map_shadow_stack", 453, 453},
    {"mbind", 237, 235},
    {"membarrier", 324, 283},
    {"memfd_create", 319, 279},
    {"memfd_secret", 447, 447},
    {"migrate_pages", 256, 238},
    {"mincore", 27, 232},
    {"mkdir", 83, -1},
    {"mkdirat", 258, 34},
    {"mknod", 133, -1},
    {"mknodat", 259, 33},
    {"mlock", 149, 228},
    {"mlock2", 325, 284},
    {"mlockall", 151, 230},
    {"mmap", 9, 222},
    {"modify_ldt", 154, -1},
    {"mount", 165, 40},
    {"mount_setattr", 442, 442},
    {"move_mount", 429, 429},
    {"move_pages", 279, 239},
    {"mprotect", 10, 226},
    {"mq_getsetattr", 245, 185},
    {"mq_notify", 244, 184},
    {"mq_open", 240, 180},
    {"mq_timedreceive", 243, 183},
    {"mq_timedsend", 242, 182},
    {"mq_unlink", 241, 181},
    {"mremap", 25, 216},
    {"mseal", 462, 462},
    {"msgctl", 71, 187},
    {"msgget", 68, 186},
    {"msgrcv", 70, 188},
    {"msgsnd", 69, 189},
    {"msync", 26, 227},
    {"munlock", 150, 229},
    {"munlockall", 152, 231},
    {"munmap", 11, 215},
    {"name_to_handle_at", 303, 264},
    {"nanosleep", 35, 101},
    {"newfstatat", 262, 79},
    {"nfsservctl", 180, 42},
    {"open", 2, -1},
    {"open_by_handle_at", 304, 265},
    {"open_tree", 428, 428},
    {"open_tree_attr", 467, 467},
    {"openat", 257, 56},
    {"openat2", 437, 437},
    {"pause", 34, -1},
    {"perf_event_open", 298, 241},
    {"personality", 135, 92},
    {"pidfd_getfd", 438, 438},
    {"pidfd_open", 434, 434},
    {"pidfd_send_signal", 424, 424},
    {"pipe", 22, -1},
    {"pipe2", 293, 59},
    {"pivot_root", 155, 41},
    {"pkey_alloc", 330, 289},
    {"pkey_free", 331, 290},
    {"pkey_mprotect", 329, 288},
    {"poll", 7, -1},
    {"ppoll", 271, 73},
    {"prctl", 157, 167},
    {"pread64", 17, 67},
    {"preadv", 295, 69},
    {"preadv2", 327, 286},
    {"prlimit64", 302, 261},
    {"process_madvise", 440, 440},
    {"process_mrelease", 448, 448},
    {"process_vm_readv", 310, 270},
    {"process_vm_writev", 311, 271},
    {"pselect6", 270, 72},
    {"ptrace", 101, 117},
    {"putpmsg", 182, -1},
    {"pwrite64", 18, 68},
    {"pwritev", 296, 70},
    {"pwritev2", 328, 287},
    {"query_module", 178, -1},
    {"quotactl", 179, 60},
    {"quotactl_fd", 443, 443},
    {"read", 0, 63},
    {"readahead", 187, 213},
    {"readlink", 89, -1},
    {"readlinkat", 267, 78},
    {"readv", 19, 65},
    {"reboot", 169, 142},
    {"recvfrom", 45, 207},
    {"recvmmsg", 299, 243},
    {"recvmsg", 47, 212},
    {"remap_file_pages", 216, 234},
    {"removexattr", 197, 14},
    {"removexattrat", 466, 466},
    {"rename", 82, -1},
    {"renameat", 264, 38},
    {"renameat2", 316, 276},
    {"request_key", 249, 218},
    {"restart_syscall", 219, 128},
    {"rmdir", 84, -1},
    {"rseq", 334, 293},
    {"rt_sigaction", 13, 134},
    {"rt_sigpending", 127, 136},
    {"rt_sigprocmask", 14, 135},
    {"rt_sigqueueinfo", 129, 138},
    {"rt_sigreturn", 15, 139},
    {"rt_sigsuspend", 130, 133},
    {"rt_sigtimedwait", 128, 137},
    {"rt_tgsigqueueinfo", 297, 240},
    {"sched_get_priority_max", 146, 125},
    {"sched_get_priority_min", 147, 126},
    {"sched_getaffinity", 204, 123},
    {"sched_getattr", 315, 275},
    {"sched_getparam", 143, 121},
    {"sched_getscheduler", 145, 120},
    {"sched_rr_get_interval", 148, 127},
    {"sched_setaffinity", 203, 122},
    {"sched_setattr", 314, 274},
    {"sched_setparam", 142, 118},
    {"sched_setscheduler", 144, 119},
    {"sched_yield", 24, 124},
    {"seccomp", 317, 277},
    {"security", 185, -1},
    {"select", 23, -1},
    {"semctl", 66, 191},
    {"semget", 64, 190},
    {"semop", 65, 193},
    {"semtimedop", 220, 192},
    {"sendfile", 40, 71},
    {"sendmmsg", 307, 269},
    {"sendmsg", 46, 211},
    {"sendto", 44, 206},
    {"set_mempolicy", 238, 237},
    {"set_mempolicy_home_node", 450, 450},
    {"set_robust_list", 273, 99},
    {"set_thread_area", 205, -1},
    {"set_tid_address", 218, 96},
    {"setdomainname", 171, 162},
    {"setfsgid", 123, 152},
    {"setfsuid", 122, 151},
    {"setgid", 106, 144},
    {"setgroups", 116, 159},
    {"sethostname", 170, 161},
    {"setitimer", 38, 103},
    {"setns", 308, 268},
    {"setpgid", 109, 154},
    {"setpriority", 141, 140},
    {"setregid", 114, 143},
    {"setresgid", 119, 149},
    {"setresuid", 117, 147},
    {"setreuid", 113, 145},
    {"setrlimit", 160, 164},
    {"setsid", 112, 157},
    {"setsockopt", 54, 208},
    {"settimeofday", 164, 170},
    {"setuid", 105, 146},
    {"setxattr", 188, 5},
    {"setxattrat", 463, 463},
    {"shmat", 30, 196},
    {"shmctl", 31, 195},
    {"shmdt", 67, 197},
    {"shmget", 29, 194},
    {"shutdown", 48, 210},
    {"sigaltstack", 131, 132},
    {"signalfd", 282, -1},
    {"signalfd4", 289, 74},
    {"socket", 41, 198},
    {"socketpair", 53, 199},
    {"splice", 275, 76},
    {"stat", 4, -1},
    {"statfs", 137, 43},
    {"statmount", 457, 457},
    {"statx", 332, 291},
    {"swapoff", 168, 225},
    {"swapon", 167, 224},
    {"symlink", 88, -1},
    {"symlinkat", 266, 36},
    {"sync", 162, 81},
    {"sync_file_range", 277, 84},
    {"syncfs", 306, 267},
    {"sysfs", 139, -1},
    {"sysinfo", 99, 179},
    {"syslog", 103, 116},
    {"tee", 276, 77},
    {"tgkill", 234, 131},
    {"time", 201, -1},
    {"timer_create", 222, 107},
    {"timer_delete", 226, 111},
    {"timer_getoverrun", 225, 109},
    {"timer_gettime", 224, 108},
    {"timer_settime", 223, 110},
    {"timerfd_create", 283, 85},
    {"timerfd_gettime", 287, 87},
    {"timerfd_settime", 286, 86},
    {"times", 100, 153},
    {"tkill", 200, 130},
    {"truncate", 76, 45},
    {"tuxcall", 184, -1},
    {"umask", 95, 166},
    {"umount2", 166, 39},
    {"uname", 63, 160},
    {"unlink", 87, -1},
    {"unlinkat", 263, 35},
    {"unshare", 272, 97},
    {"uprobe", 336, -1},
    {"uretprobe", 335, -1},
    {"uselib", 134, -1},
    {"userfaultfd", 323, 282},
    {"ustat", 136, -1},
    {"utime", 132, -1},
    {"utimensat", 280, 88},
    {"utimes", 235, -1},
    {"vfork", 58, -1},
    {"vhangup", 153, 58},
    {"vmsplice", 278, 75},
    {"vserver", 236, -1},
    {"wait4", 61, 260},
    {"waitid", 247, 95},
    {"write", 1, 64},
    {"writev", 20, 66},
};

#define LATENCY(number_, name_, unit_, source_, text, detail_)                                     \
	{                                                                                          \
		.name = name_, .number = (number_) + 1, .kind = EVENT_COUNT,                       \
		.scope = EVENT_SCOPE_CPU, .unit = unit_, .source = source_, .description = text,   \
		.detail = detail_, .nr_parts = 1,                                                  \
		.parts = &(const struct event_part){.pmu = "",                                     \
						    .type = PERF_TYPE_SOFTWARE,                    \
						    .config = PERF_COUNT_SW_BPF_OUTPUT,            \
						    .config1 = PERF_ABI_LATENCY + (number_)},      \
	}
#define DETAIL                                                                                     \
	"Its count is what ended in the iteration. The histogram, in steps of 1/16 of a power of " \
	"two, is\nin the trace: cpuperf_print --report=latency."

static const struct event_row rows[] = {
    LATENCY(EVENT_LATENCY_RUN_QUEUE, "run_queue", "waits", "BPF: sched_switch, sched_wakeup",
	    "How long tasks wait for a CPU: from the wakeup, or the preemption, to the switch in.",
	    DETAIL "\nsched:run_queue_time is the sum, also of waits that last."),
    LATENCY(EVENT_LATENCY_BLOCK, "block", "requests", "BPF: block_rq_issue, block_rq_complete",
	    "How long requests to disks are queued, and in the device; by disk and operation.",
	    DETAIL "\nOf the machine, also with a target."),
    LATENCY(EVENT_LATENCY_IRQ, "irq", "interrupts", "BPF: irq_handler_entry, irq_handler_exit",
	    "How long the handlers of device interrupts run; by number.",
	    DETAIL "\nOf the machine, also with a target. Timers and other interrupts of the CPU "
		   "itself have no handler."),
    LATENCY(EVENT_LATENCY_SOFTIRQ, "softirq", "softirqs", "BPF: softirq_entry, softirq_exit",
	    "How long soft interrupts run; by vector.",
	    DETAIL "\nOf the machine, also with a target."),
};

static int number_of(const struct host *h, const struct syscall_row *call)
{
	return strcmp(h->machine, "x86_64") == 0    ? call->x86
	       : strcmp(h->machine, "aarch64") == 0 ? call->arm64
						    : -1;
}

static int make(const struct catalogue *c, const struct syscall_row *call,
		const struct event_row **out)
{
	struct event_row *row = arena_alloc(c->arena, sizeof(*row));
	struct event_part *part = arena_alloc(c->arena, sizeof(*part));
	int number = number_of(c->host, call);

	if (!row || !part)
		return -ENOMEM;
	*part = (struct event_part){.pmu = "",
				    .type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_BPF_OUTPUT,
				    .config1 = PERF_ABI_LATENCY + EVENT_LATENCY_SYSCALL +
					       (number < 0 ? 0 : (uint64_t)number)};
	*row = (struct event_row){
	    .name = arena_printf(c->arena, "%s%s", PREFIX, call->name),
	    .kind = EVENT_COUNT,
	    .scope = EVENT_SCOPE_CPU,
	    .unit = "calls",
	    .source = "BPF: sys_enter, sys_exit",
	    .description = arena_printf(c->arena, "How long the system call %s takes; by process.",
					call->name),
	    .detail =
		DETAIL "\nFrom its begin in the kernel to the end of its work there. What follows "
		       "before the program goes on, a\npreemption or a signal, is not in it: "
		       "latency:run_queue has the wait of the former.\nWithout those of 32-bit "
		       "programs.",
	    .nr_parts = 1,
	    .parts = part,
	    .missing = number < 0 ? "this machine has no such system call" : NULL,
	};
	*out = row;
	return row->name && row->description ? 0 : -ENOMEM;
}

static int find(const struct catalogue *c, const char *name, const struct event_row **out,
		struct err *e)
{
	(void)e;
	if (strncmp(name, PREFIX, sizeof(PREFIX) - 1) != 0)
		return -ENOENT;
	for (size_t i = 0; i < ARRAY_NR(syscalls); i++)
		if (strcmp(syscalls[i].name, name + sizeof(PREFIX) - 1) == 0)
			return make(c, &syscalls[i], out);
	return -ENOENT;
}

static int each(const struct catalogue *c, int (*fn)(const struct event_row *row, void *arg),
		void *arg)
{
	const struct event_row *row;
	int rc = 0;

	for (size_t i = 0; i < ARRAY_NR(syscalls) && rc == 0; i++)
		if (number_of(c->host, &syscalls[i]) >= 0)
			rc = make(c, &syscalls[i], &row) ?: fn(row, arg);
	return rc;
}

static const struct event_maker syscall_maker = {.find = find, .each = each};
static const struct event_maker *const makers[] = {&syscall_maker};

const struct event_group event_latency_group = {
    .name = "latency",
    .description = "How long things take: histograms made by programs in the kernel (BPF).",
    .id = EVENT_GROUP_LATENCY,
    .is_perf = true,
    .rows = rows,
    .nr_rows = ARRAY_NR(rows),
    .makers = makers,
    .nr_makers = ARRAY_NR(makers),
};

bool event_can_be_sampled(const struct event *ev)
{
	return !event_group_is_misc(ev->group) && ev->group->id != EVENT_GROUP_LATENCY &&
	       event_heap(ev) != EVENT_HEAP_ALLOCATIONS && event_heap(ev) != EVENT_HEAP_PEAK_TIME &&
	       (event_wait(ev) < 0 || strcmp(ev->row->unit, "ns") == 0);
}

int event_latency(const struct event *ev)
{
	struct event_part part;

	if (ev->group->id != EVENT_GROUP_LATENCY)
		return -1;
	event_part(ev, 0, &part);
	return (int)(part.config1 - PERF_ABI_LATENCY);
}
