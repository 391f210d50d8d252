/*
 * Labels of Go of which a text is not in memory: one in the program's file that nobody has read
 * yet. Such a text counts by where it is: the number is the same before and after.
 */
#include "interpreters/language.h"

#include <stdint.h>
#include <string.h>

struct set {
	const struct bpf_interpreted_far *far;
	const struct bpf_go *go;
	size_t nr;
	struct bpf_go_text text[2 * BPF_GO_MAX_LABELS];
};

static bool load(const struct set *s, void *to, size_t bytes, uint64_t at)
{
	return !bytes || interpreters_far_load(s->far, to, bytes, at);
}

static bool load_map(struct set *s)
{
	uint8_t bucket[BPF_GO_BUCKET_BYTES];
	struct bpf_go_map map;

	if (!load(s, &map, sizeof(map), s->far->address) || map.nr > BPF_GO_MAX_LABELS ||
	    map.buckets_log2 > BPF_GO_MAX_BUCKETS_LOG2)
		return false;
	for (uint64_t b = 0; b < UINT64_C(1) << map.buckets_log2; b++) {
		if (!load(s, bucket, sizeof(bucket), map.buckets + b * sizeof(bucket)))
			return false;
		for (size_t i = 0; i < BPF_GO_SLOTS && s->nr < map.nr; i++) {
			struct bpf_go_text *t = &s->text[2 * s->nr];

			if (bucket[i] < BPF_GO_USED_SLOT)
				continue;
			memcpy(&t[0], bucket + BPF_GO_BUCKET_KEYS + i * sizeof(*t), sizeof(*t));
			memcpy(&t[1], bucket + BPF_GO_BUCKET_VALUES + i * sizeof(*t), sizeof(*t));
			s->nr++;
		}
	}
	return true;
}

static bool load_list(struct set *s)
{
	struct bpf_go_text list;

	if (!load(s, &list, sizeof(list), s->far->address) || list.bytes > BPF_GO_MAX_LABELS)
		return false;
	s->nr = list.bytes;
	return load(s, s->text, s->nr * BPF_GO_LABEL_BYTES, list.data);
}

/* Adds a text, which is also copied to room for it. False: it cannot be read. */
static bool add_text(const struct set *s, size_t i, uint8_t *to, uint64_t *h)
{
	const struct bpf_go_text *t = &s->text[i];
	uint8_t content[BPF_GO_VALUE_BYTES] = {0};

	if (!load(s, content, t->bytes, t->data))
		return false;
	memcpy(to, content, t->bytes);
	*h = bpf_go_is_constant(s->go, t) ? bpf_go_mix_constant(*h, t, s->far->space)
					  : bpf_go_mix_content(*h, content, t->bytes);
	return true;
}

bool interpreters_go_far(const struct bpf_interpreted_far *far,
			 const struct bpf_interpreted_process *process,
			 struct bpf_interpreted_code *out)
{
	struct set s = {.far = far, .go = &process->go};
	struct bpf_go_label label[BPF_GO_MAX_LABELS];
	uint64_t number = 0;

	memset(label, 0, sizeof(label));
	if (!(s.go->at.is_map ? load_map(&s) : load_list(&s)))
		return false;
	for (size_t i = 0; i < s.nr; i++) {
		uint64_t h = BPF_INTERPRETED_GO;

		if (!bpf_go_fits(0, &s.text[2 * i]) || !bpf_go_fits(1, &s.text[2 * i + 1]))
			continue;
		if (!add_text(&s, 2 * i, label[i].key, &h) ||
		    !add_text(&s, 2 * i + 1, label[i].value, &h))
			return false;
		label[i].key_bytes = (uint8_t)s.text[2 * i].bytes;
		label[i].value_bytes = (uint8_t)s.text[2 * i + 1].bytes;
		number += h;
	}
	*out = (struct bpf_interpreted_code){.language = BPF_INTERPRETED_GO,
					     .process = far->process,
					     .code = far->code,
					     .lines_bytes = (uint32_t)(s.nr * sizeof(*label))};
	memcpy(out->lines, label, out->lines_bytes);
	return number == far->code;
}
