/*
 * Any bytes as what a host sends, as the request that the starter sends, and as host.json. What is
 * understood lies within the bytes, and written again it is understood as the same.
 */
#include "base/buf.h"
#include "base/mem.h"
#include "hosts/frame.h"
#include "hosts/part.h"
#include "spec/spec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int holds)
{
	if (!holds)
		abort();
}

static void check_run(const struct hosts_frame *f)
{
	struct hosts_run run, again;
	struct hosts_frame g;
	BUF_AUTO(out, HOSTS_MAX_REQUEST_BYTES + HOSTS_HEADER_BYTES);

	if (hosts_frame_read_run(f, &run))
		return;
	hosts_frame_add_run(&out, &run);
	require(hosts_frame_next(out.data, out.len, HOSTS_MAX_REQUEST_BYTES, &g) ==
		(ptrdiff_t)out.len);
	require(hosts_frame_read_run(&g, &again) == 0 && again.nr_args == run.nr_args &&
		again.spec_len == run.spec_len && !again.spec_text == !run.spec_text);
	for (size_t i = 0; i < run.nr_args; i++)
		require(strcmp(run.argv[i], again.argv[i]) == 0);
	mem_free(run.argv);
	mem_free(again.argv);
}

static void check_file(struct cursor c)
{
	const char *name;
	size_t len;

	cursor_le64(&c);
	name = cursor_string16(&c, &len);
	if (hosts_frame_is_file(name, len))
		require(len > 8 && memcmp(name, "cpuperf.", 8) == 0 && !memchr(name, '/', len) &&
			!memchr(name, '\0', len));
}

static void check_frames(const uint8_t *data, size_t size)
{
	struct hosts_frame f;
	ptrdiff_t n;

	while ((n = hosts_frame_next(data, size, HOSTS_MAX_DATA_BYTES, &f)) > 0) {
		require((size_t)n <= size && f.data.at + f.data.left == data + n);
		check_run(&f);
		check_file(f.data);
		data += n;
		size -= (size_t)n;
	}
	require(n == 0 || n == -EBADMSG);
}

static void check_part(const char *text, size_t len)
{
	struct hosts_part p, again;
	char folder[NAME_MAX + 1];
	BUF_AUTO(out, 64 << 10);

	hosts_part_init(&p);
	if (hosts_part_parse(text, len, "f", &p, NULL))
		return;
	hosts_part_folder(&p, folder);
	require(*folder && *folder != '.' && !strchr(folder, '/'));
	hosts_part_to_json(&p, &out);
	hosts_part_init(&again);
	require(buf_error(&out) == 0 &&
		hosts_part_parse(out.data, out.len, "f", &again, NULL) == 0 &&
		strcmp(p.host, again.host) == 0 && strcmp(p.reason, again.reason) == 0 &&
		p.rank == again.rank && p.clock_offset_ns == again.clock_offset_ns &&
		p.status == again.status);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_set;

	if (!is_set)
		spec_use_own_heap();
	is_set = true;
	check_frames(data, size);
	check_part((const char *)data, size);
	return 0;
}
