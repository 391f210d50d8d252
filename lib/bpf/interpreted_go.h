/*
 * Of Go: what the program in the kernel and the recorder share. Go is compiled; what is read are
 * the labels of a goroutine (pprof.Do): a set of keys with values, all of them texts.
 */
#ifndef BPF_INTERPRETED_GO_H
#define BPF_INTERPRETED_GO_H

#include <linux/types.h>

/* Where the runtime has what is read: offsets in bytes. */
struct bpf_go_offsets {
	__u16 g_m, g_labels; /* of a goroutine */
	__u16 m_curg;        /* of a thread: the goroutine that it runs */
	__u16 is_map;        /* labels are a map, and not a list */
};

struct bpf_go {
	__u64 constants_begin, constants_end; /* texts there are in the file, and never change */
	__s64 tls;                            /* of the goroutine, from the thread's fsbase */
	struct bpf_go_offsets at;
};

enum {
	BPF_GO_MAX_LABELS = 16,   /* a larger set is not read */
	BPF_GO_KEY_BYTES = 62,    /* a label with a longer text is left out */
	BPF_GO_VALUE_BYTES = 256, /* the same, of fewer; a power of two */
};

/* A definition has them where lines would be. */
struct bpf_go_label {
	__u8 key_bytes, value_bytes;
	__u8 key[BPF_GO_KEY_BYTES];
	__u8 value[BPF_GO_VALUE_BYTES];
};

struct bpf_go_text {
	__u64 data, bytes;
};

/* A map up to Go 1.23. */
enum {
	BPF_GO_LABEL_BYTES = 32, /* of a list */
	BPF_GO_SLOTS = 8,        /* of a bucket */
	BPF_GO_BUCKET_KEYS = 8,
	BPF_GO_BUCKET_VALUES = 136,
	BPF_GO_BUCKET_BYTES = 272,
	BPF_GO_MAX_BUCKETS_LOG2 = 2,
	BPF_GO_USED_SLOT = 5, /* the least mark of one */
};
struct bpf_go_map {
	__u64 nr;
	__u8 flags, buckets_log2;
	__u16 nr_overflow;
	__u32 seed;
	__u64 buckets;
};

static inline __u32 bpf_go_is_constant(const struct bpf_go *go, const struct bpf_go_text *t)
{
	return t->data >= go->constants_begin && t->data < go->constants_end &&
	       t->bytes <= go->constants_end - t->data;
}

/* Add a text to the number of a label: by where it is if it is constant, which need not be in
 * memory, and else by what it says, filled up with zeroes. Both sides must come to the same one. */
static inline __u64 bpf_go_mix_constant(__u64 h, const struct bpf_go_text *t, __u64 space)
{
	return bpf_interpreted_mix(bpf_interpreted_mix(h ^ space, t->data), ~t->bytes);
}

static inline __u64 bpf_go_mix_content(__u64 h, const __u8 content[BPF_GO_VALUE_BYTES], __u64 bytes)
{
	h = bpf_interpreted_mix(h, bytes);
	for (__u32 i = 0; i < BPF_GO_VALUE_BYTES; i += 8)
		h = bpf_interpreted_mix(h, *(const __u64 *)(const void *)(content + i));
	return h;
}

/* Whether a definition has room for a text. A label without a key is none. */
static inline __u32 bpf_go_is_key(__u32 i)
{
	return !(i & 1);
}

static inline __u32 bpf_go_fits(__u32 i, const struct bpf_go_text *t)
{
	return bpf_go_is_key(i) ? t->bytes && t->bytes <= BPF_GO_KEY_BYTES
				: t->bytes < BPF_GO_VALUE_BYTES;
}

#endif
