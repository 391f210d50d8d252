#include "title.h"

#include "base/buf.h"
#include "inputs.h"
#include "numbers.h"
#include "profile/about.h"

#include <time.h>

void title_put_date(uint64_t realtime_ns, struct buf *out)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	char text[64];
	struct tm tm;

	if (realtime_ns && gmtime_r(&seconds, &tm) &&
	    strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S UTC", &tm))
		buf_adds(out, text);
}

static void put_part(const char *text, struct buf *out)
{
	buf_printf(out, "%s%s", *text ? ", " : "", text);
}

void title_put(const struct input *o, const struct profile_about *about, struct buf *out)
{
	BUF_AUTO(date, 64);

	if (o->title || o->import) {
		buf_adds(out, input_title(o));
		return;
	}
	buf_printf(out, "%s%smachine %s", o->config_name, *o->config_name ? ": " : "",
		   o->facts->head.host);
	if (about->end_ns > about->start_ns)
		put_part(HUMAN((double)(about->end_ns - about->start_ns), "ns"), out);
	title_put_date(profile_about_realtime(about, about->start_ns), &date);
	put_part(buf_str(&date), out);
}
