/*
 * The clients of GPUs, of all drivers: what each used of engines and memory, added up by engine and
 * by process. Several sources of things share one list. A maker finds clients: gpu/drm.c, by DRM's
 * fdinfo; gpu/nvidia.c, by NVIDIA's library.
 *
 * A client is counted once, however many descriptors and processes have it open: among processes in
 * the one with the lowest number. Counters begin at what clients had used at the first reading; of
 * one that is found later they count all if it is new (its number is above all that were seen on
 * its device), else only what it uses from then on. They never go back: a client that ends leaves
 * what was last read of it, and what it used after that is missed.
 *
 * Private to gpu/.
 */
#ifndef GPU_CLIENTS_H
#define GPU_CLIENTS_H

#include "gpu/fdinfo.h"
#include "process/reader.h"
#include "things/many.h"

enum {
	GPU_CLIENTS_MAX = 8192,
	GPU_CLIENTS_MAX_ENGINES = 1024,
	GPU_CLIENTS_MAX_DEVICES = 64,
	GPU_CLIENTS_MAX_MAKERS = 4,
	GPU_CLIENTS_DEVICE_BYTES = 64,
	GPU_CLIENTS_NAME_BYTES = GPU_CLIENTS_DEVICE_BYTES + GPU_FDINFO_NAME_BYTES,
};

enum gpu_engine_field {
	GPU_ENGINE_BUSY_TIME,   /* ns; a counter */
	GPU_ENGINE_BUSY,        /* a share: of ns, or of cycles, of all alike engines of the name */
	GPU_ENGINE_BUSY_CYCLES, /* a counter */
	GPU_ENGINE_TOTAL_CYCLES,  /* of the engine's clock while it has clients; a counter */
	GPU_ENGINE_CAPACITY,      /* alike engines that have the name */
	GPU_ENGINE_MAX_FREQUENCY, /* Hz */
	GPU_ENGINE_FREQUENCY,     /* Hz */
	GPU_ENGINE_CLIENTS,       /* that name the engine, now */
	GPU_ENGINE_NR_FIELDS
};

enum gpu_process_field {
	GPU_PROCESS_BUSY_TIME,      /* ns, summed over engines; a counter */
	GPU_PROCESS_BUSY_CYCLES,    /* the same */
	GPU_PROCESS_MEMORY,         /* bytes that are present in memory of the GPU's own */
	GPU_PROCESS_MEMORY_MACHINE, /* bytes that are present in the machine's memory */
	GPU_PROCESS_CLIENTS,        /* now */
	GPU_PROCESS_BUSY,           /* percent, summed over GPUs, in the last moments */
	GPU_PROCESS_NR_FIELDS
};

/* What a maker reads of a client. Strings and engines are borrowed during the call. */
struct gpu_client {
	const char *device; /* "card0" */
	uint64_t id;        /* unique on the device; of new ones above all before */
	uint32_t process;
	uint32_t pid, place; /* by which a failure later on names it: thread and descriptor */
	const struct gpu_fdinfo_engine *engines;
	size_t nr_engines;
	bool has_memory, has_memory_machine, has_busy;
	uint64_t memory, memory_machine, busy;
};

/* An engine of a GPU, in the order of discovery; it stays as long as the list. */
struct gpu_engine {
	char name[GPU_CLIENTS_NAME_BYTES]; /* "card0 render"; cleaned */
	char own[GPU_FDINFO_NAME_BYTES];   /* "render" */
	const char *device;
	uint32_t number; /* in the order of discovery */
	uint64_t born_ns;
	uint32_t has; /* bits of gpu_engine_field, like the indices of the next two */
	uint64_t values[GPU_ENGINE_NR_FIELDS], wholes[GPU_ENGINE_NR_FIELDS];
	uint64_t nr_missed;
	/* private */
	uint64_t total, total_before; /* cycles of the clock in this reading and the one before */
	uint64_t grown_ns, grown_cycles;
	bool has_total, has_total_before;
};

/* A process that uses a GPU now. */
struct gpu_process {
	uint32_t number; /* in the order of discovery */
	uint32_t pid;
	char command[PROCESS_COMMAND_BYTES];   /* "": unknown */
	char name[PROCESS_COMMAND_BYTES + 16]; /* "1234 name"; cleaned */
	uint64_t born_ns;
	uint32_t has; /* bits of gpu_process_field */
	uint64_t values[GPU_PROCESS_NR_FIELDS];
	uint64_t nr_missed;
	int error; /* why a client of it could not be read in this reading; 0: none */
	/* private */
	uint64_t grown_ns, grown_cycles;
	uint32_t nr_kept; /* clients that it had before */
	bool is_seen, had_clients, is_noted;
};

struct gpu_clients;

/* Finds clients of one kind of driver. */
struct gpu_client_maker {
	/* proc: the state of process_proc_reader, borrowed. 0; -ENOENT with *e: the machine has no
	 * such GPU; or -errno with *e. */
	int (*open)(const struct root *root, void *proc, void **state, struct err *e);
	void (*close)(void *state);
	/* Adds each client to c, in ascending order of processes (gpu_clients_add, _fail, _note).
	 * 0 or -errno. */
	int (*read)(void *state, struct gpu_clients *c);
	/* Optional; as of struct things_source. */
	int (*use_kernel)(void *state, struct err *why);
	const char *(*way)(const void *state);
};

extern const struct gpu_client_maker gpu_drm_maker, gpu_nvidia_maker;

/* For makers: 0 or -ENOMEM. */
int gpu_clients_add(struct gpu_clients *c, const struct gpu_client *client);
/* A client could not be read: it stays as it was, and the process has the error. where: of the
 * maker, for a note, once for each process. 0 or -ENOMEM. */
int gpu_clients_fail(struct gpu_clients *c, uint32_t process, uint32_t pid, uint32_t place,
		     int error);
void gpu_clients_note(struct gpu_clients *c, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* 0, or -errno with *e: -ENOENT if there is no GPU of any maker. */
int gpu_clients_open(const struct root *root, struct gpu_clients **out, struct err *e);
/* The same with other makers, at most GPU_CLIENTS_MAX_MAKERS, borrowed (tests only). */
int gpu_clients_open_with(const struct root *root, const struct gpu_client_maker *const *makers,
			  size_t nr, struct gpu_clients **out, struct err *e);
struct gpu_clients *gpu_clients_share(struct gpu_clients *c); /* one more owner */
void gpu_clients_close(struct gpu_clients *c);                /* one owner less; NULL is fine */

/* The next owner to read reads all clients: what was read before is of another moment. */
void gpu_clients_begin(struct gpu_clients *c);
/* Reads all clients, unless another owner did since *round, which is the caller's own: 0 at first,
 * and since gpu_clients_begin. 0 or -errno: of this reading. */
int gpu_clients_read(struct gpu_clients *c, uint64_t *round);
int gpu_clients_use_kernel(struct gpu_clients *c, struct err *why);
/* NULL: from the files that the row names. */
const char *gpu_clients_way(const struct gpu_clients *c);
/* As of struct things_source; each once among all owners. */
const char *gpu_clients_next_note(struct gpu_clients *c);

/* Of the last reading. */
uint64_t gpu_clients_time(const struct gpu_clients *c);
size_t gpu_clients_nr_engines(const struct gpu_clients *c);
const struct gpu_engine *gpu_clients_engine(const struct gpu_clients *c, size_t i);
size_t gpu_clients_nr_processes(const struct gpu_clients *c);
/* Ascending by number of the process. */
const struct gpu_process *gpu_clients_process(const struct gpu_clients *c, size_t i);
/* The state of process_proc_reader. */
void *gpu_clients_proc(const struct gpu_clients *c);

#endif
