/*
 * The search line: filters as words, "pid:17 thread:worker* 500ms..2s malloc". What is no filter is part of a
 * function's name. Must not depend on the page.
 */
/* argument: of the server's reports; isAsked: the page's data do not have it, so that the server makes others. */
const FIELDS = {
	pid: { about: 'a process: 17, or 17,20-29', argument: 'pid', isNumbers: true, of: (t) => t.pid },
	tid: { about: 'a thread by its number', argument: 'tid', isNumbers: true, of: (t) => t.tid },
	thread: { about: 'threads by name: worker*', argument: 'comm', of: (t) => t.comm },
	host: { about: 'a host of the job', of: (t, data) => data.hosts[t.host] },
	region: { about: 'within a region: request*; - is outside of all', argument: 'region' },
	cpu: { about: 'CPUs: 0-3', argument: 'cpu', isNumbers: true, isAsked: true },
	iteration: { about: 'iterations: 0-4', argument: 'iteration', isNumbers: true, isAsked: true },
	'tree-of': { about: 'a process and its children', argument: 'tree-of', isNumbers: true, isAsked: true },
	zoom: { about: 'a time by itself, in finer steps: 500ms..2s', isAsked: true },
};
const RANGES = /^\d+(-\d+)?(,\d+(-\d+)?)*$/;
const WORD = /(?:"[^"]*"|[^\s"]|"(?=[^"]*$))+/g; /* a quote without its end is a character */

/* As fnmatch(3): *, ?, [a-z], [!a]. Always the whole text. */
function globOf(pattern) {
	const escaped = pattern.replace(/[.+^${}()|\\/]/g, '\\$&').replace(/\*/g, '.*').replace(/\?/g, '.')
		.replace(/\[!/g, '[^').replace(/\[(?![^\]]+\])/g, '\\[');

	try {
		return new RegExp(`^${escaped}$`, 's');
	} catch {
		return /^\b$/; /* nothing */
	}
}

/* "500ms..2s", "..2s", "2s.."; null: no time. */
function spanOf(word) {
	const match = /^([\d.,]+[a-zµ]*)?\.\.([\d.,]+[a-zµ]*)?$/.exec(word);
	const [from, to] = match ? [match[1] ? parseTime(match[1]) : 0, match[2] ? parseTime(match[2]) : Infinity] : [];

	return match && word !== '..' && from < to ? [from, to] : null;
}

/* A value as a word that means it alone. */
function quoted(value) {
	const glob = String(value).replace(/[*?[]/g, '[$&]');

	return /[\s"]/.test(glob) ? `"${glob.replace(/"/g, '?')}"` : glob;
}

/* filters: {text, field, value, fault}; span: [from, to] in ns, or null; words: the rest. */
function parseQuery(text) {
	const query = { text, filters: [], span: null, spanText: '', words: '' };
	const words = [];

	for (const word of text.match(WORD) || []) {
		const [, field, given] = /^([a-z-]+):(.+)$/s.exec(word) || [];
		const span = spanOf(word);

		if (field in FIELDS) {
			const value = given.replace(/"/g, '');
			const fault = FIELDS[field].isNumbers && !RANGES.test(value) ? 'not a number, or several: 17,20-29'
				: field === 'zoom' && !spanOf(value) ? 'not a time: 500ms..2s' : '';

			query.filters.push({ text: word, field, value, fault });
		} else if (span) {
			[query.span, query.spanText] = [span, word];
		} else {
			words.push(word);
		}
	}
	query.words = words.join(' ');
	return query;
}

/* Whether a value is what a filter wants. */
function wantedBy({ field, value }) {
	if (!FIELDS[field].isNumbers) {
		const glob = globOf(value);

		return (x) => glob.test(x);
	}

	const ranges = value.split(',').map((range) => range.split('-').map(Number));

	return (x) => ranges.some(([first, last = first]) => x >= first && x <= last);
}

/* Filters of one field are alternatives. By number whether a thread is wanted. */
function threadsWanted(query, data) {
	const wanted = data.threads.map(() => true);

	for (const field of Object.keys(FIELDS).filter((name) => FIELDS[name].of)) {
		const tests = query.filters.filter((f) => f.field === field && !f.fault).map(wantedBy);

		if (tests.length)
			data.threads.forEach((t, i) => { wanted[i] = wanted[i] && tests.some((is) => is(FIELDS[field].of(t, data))); });
	}
	return wanted;
}

/* The same of regions: those within one whose name or path is wanted. */
function regionsWanted(query, { regions }) {
	const tests = query.filters.filter((f) => f.field === 'region').map((f) => (f.value === '-' ? null : wantedBy(f)));
	const is = regions.map((r, i) => (i ? tests.some((test) => test && (test(r.name) || test(r.path))) : tests.includes(null)));

	regions.forEach((r, i) => { is[i] = is[i] || (r.outer > 0 && is[r.outer]); });
	return tests.length ? is : regions.map(() => true);
}

/* What a server is asked with; span: exact times, or null. */
function argumentsOf(query, span, isOnlyAsked = false) {
	const args = new URLSearchParams();
	const setTimes = ([from, to]) => {
		args.set('from', exactTime(from));
		if (to < Infinity)
			args.set('to', exactTime(to));
	};

	for (const { field, value, fault } of query.filters)
		if (field === 'zoom' && !fault)
			setTimes(spanOf(value));
		else if (FIELDS[field].argument && !fault && value !== '-' && (!isOnlyAsked || FIELDS[field].isAsked))
			args.append(FIELDS[field].argument, value);
	if (span && !isOnlyAsked)
		setTimes(span);
	return args;
}

/* The text with another word in place of one; '': without it. */
function replaced(text, word, by) {
	const words = text.match(WORD) || [];
	const at = word ? words.indexOf(word) : -1;

	if (at >= 0)
		words.splice(at, 1, ...by ? [by] : []);
	else if (by)
		words.push(by);
	return words.join(' ');
}

const COMPLETIONS = 12, OF_EACH = 4;

/* {text: the line with it, name, about} of what could stand in place of the last word. values: by field what the
 * session has, [value, about]; and by '' names of functions. */
function completionsOf(text, values) {
	const last = /\S*$/.exec(text)[0];
	const before = text.slice(0, text.length - last.length);
	const [, field, part] = /^([a-z-]+):(.*)$/s.exec(last) || [null, '', last];
	const wanted = part.replace(/[*"]/g, '').toLowerCase();
	const isWhole = ([value]) => `${value}`.toLowerCase() === wanted; /* 123 before 1234, which has more samples */
	const of = (name, most) => (values[name] || []).filter(([value, about]) => `${value} ${about}`.toLowerCase().includes(wanted))
		.sort((a, b) => isWhole(b) - isWhole(a)).slice(0, most).map(([value, about]) => ({ name: name ? `${name}:${value}` : value, about,
			text: `${before}${name ? `${name}:${quoted(value)} ` : value}` }));

	if (field in FIELDS)
		return of(field, COMPLETIONS);

	const fields = Object.keys(FIELDS).filter((name) => name in values && name.startsWith(wanted))
		.map((name) => ({ name: `${name}:`, about: FIELDS[name].about, text: `${before}${name}:` }));

	return (wanted ? [...fields, ...Object.keys(values).flatMap((name) => of(name, name ? OF_EACH : COMPLETIONS))] : fields).slice(0, COMPLETIONS);
}
