/*
 * Numbers for display, the same in every locale, and elements of the page. Text enters the page
 * only here and through textContent, since names are not trusted.
 */
/* Of charts: from there on the limit is the top of the axis; what exceeds it by rounding is not marked. */
const NEAR_LIMIT = 0.9, OVER_LIMIT = 1.01;

const byId = (id) => document.getElementById(id);

function element(tag, text, className) {
	const e = document.createElement(tag);

	if (text !== undefined)
		e.textContent = text;
	if (className)
		e.className = className;
	return e;
}

function whole(n) {
	return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ',');
}

function significant(x) {
	const size = Math.abs(x);

	return x.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2);
}

const TIMES = [['s', 1e9], ['ms', 1e6], ['µs', 1e3], ['ns', 1]];
const PREFIXES = [['E', 1e18], ['P', 1e15], ['T', 1e12], ['G', 1e9], ['M', 1e6], ['k', 1e3]];

function time(ns) {
	const [name, factor] = TIMES.find((t) => Math.abs(ns) >= t[1]) || TIMES[3];

	return `${factor === 1 ? Math.round(ns) : significant(ns / factor)} ${name}`;
}

/* A point of time. */
function instant(ns) {
	return ns ? time(ns) : '0';
}

/* A time with all digits of the axis, for input fields and --from. */
function exactTime(ns) {
	const [name, factor] = ns ? TIMES.find((t) => ns % (t[1] / 1000) === 0 && ns >= t[1]) ||
		TIMES[3] : TIMES[1];

	return `${ns / factor}${name === 'µs' ? 'us' : name}`;
}

/* "1.5s", "20 ms", or seconds. NaN: no time. */
function parseTime(text) {
	const match = /^\s*(\d+(?:[.,]\d*)?|[.,]\d+)\s*(s|ms|us|µs|ns|)\s*$/.exec(text);
	const factor = { s: 1e9, ms: 1e6, us: 1e3, 'µs': 1e3, ns: 1, '': 1e9 };

	return match ? parseFloat(match[1].replace(',', '.')) * factor[match[2]] : NaN;
}

function amount(x, unit) {
	if (unit === 'ns')
		return time(x);
	if (unit === '%')
		return `${significant(x)} %`;

	const step = Math.abs(x) >= 1e5 && PREFIXES.find((p) => Math.abs(x) >= p[1]);

	if (step) /* "1.20 GB", "38.7 k faults" */
		return `${significant(x / step[1])} ${step[0]}${unit.length > 3 ? ' ' : ''}${unit}`;
	return `${Number.isInteger(x) || Math.abs(x) >= 1000 ? whole(x) : significant(x)}${
		unit ? ` ${unit}` : ''}`;
}

function ofHundred(share) {
	const p = 100 * share;

	return p.toFixed(p > 0 && p < 0.1 ? 3 : p < 10 ? 2 : 1);
}

function percent(share) {
	return `${ofHundred(share)} %`;
}

/* A difference of two shares, in percentage points. */
function points(difference, half) {
	const sign = difference > 0 ? '+' : difference < 0 ? '−' : '±';
	const spread = half === undefined ? '' : ` ± ${ofHundred(half)}`;

	return `${sign}${ofHundred(Math.abs(difference))}${spread} points`;
}

function plural(n, what) {
	return `${whole(n)} ${what}${n === 1 ? '' : 's'}`;
}
