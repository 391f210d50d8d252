/*
 * The navigator: the address says what is shown, so that each view is a link. Answers are the
 * reports of cpuperf_print in ndjson.
 */
const FILTERS = [
	{ name: 'event', about: 'Event', choose: true },
	{ name: 'comm', about: 'Thread name', hint: 'postgres*' },
	{ name: 'pid', about: 'Process', hint: '17,20-29' },
	{ name: 'tid', about: 'Thread', hint: '18' },
	{ name: 'tree-of', about: 'With its children', hint: '17' },
	{ name: 'cpu', about: 'CPU', hint: '0-3' },
	{ name: 'iteration', about: 'Iteration', hint: '0-4' },
	{ name: 'from', about: 'From', hint: '500ms' },
	{ name: 'to', about: 'To', hint: '2s' },
	{ name: 'region', about: 'Region', hint: 'request*' },
];
const NAMES = { flat: 'Functions', tree: 'Flame graph', timeline: 'In order of time', threads: 'Threads', lanes: 'Lanes', waits: 'Waits',
	locks: 'Locks', regions: 'Regions', heap: 'Heap', sizes: 'Block sizes', lifetimes: 'Lifetimes', memory: 'Memory map',
	latency: 'Latencies', functions: 'Calls of functions', diff: 'Changes', hosts: 'Hosts', summary: 'Counts',
	series: 'Over time', 'top-down': 'Top-down' };

let facts = { events: [], reports: [], arguments: {}, sessions: [], notes: [] };
let shownNumber = 0; /* of the view that was asked for last */

/* --- addresses --- */

function here() {
	return new URLSearchParams(location.search);
}

function filtersOf(from) {
	const out = new URLSearchParams();

	FILTERS.forEach(({ name }) => from.get(name) && out.set(name, from.get(name)));
	return out;
}

/* The address of a view with the filters of this one. */
function linkTo(view, more = {}) {
	const out = filtersOf(here());

	out.set('view', view);
	Object.entries(more).forEach(([name, value]) =>
		value === '' ? out.delete(name) : out.set(name, value));
	return `?${out}`;
}

function go(address) {
	history.pushState(null, '', address);
	show();
}

function anchor(text, address, className) {
	const a = element('a', text, className);

	a.href = address;
	return a;
}

/* A pattern that matches this name alone: without one of its characters it would match parts. */
function exactly(name) {
	const pattern = name.replace(/[*?[]/g, '[$&]').replace(/\\/g, '\\\\');

	return /^[!^\]\\]/.test(pattern) || /\[/.test(pattern) ? pattern
		: `[${pattern[0]}]${pattern.slice(1)}`;
}

/* Without more it is asked as it was made ahead. */
function api(report, more = facts.arguments[report] || {}) {
	const args = filtersOf(here());

	Object.entries(more).forEach(([name, value]) => args.set(name, value));
	return `/api/${report}${args.size ? `?${args}` : ''}`;
}

/* Of a table: by name, what is in a column. A header's characters are bytes. */
function columnsIn(header) {
	const bytes = Uint8Array.from(header || '[]', (c) => c.charCodeAt(0));

	return new Map(JSON.parse(new TextDecoder().decode(bytes)).map(([name, kind, unit]) =>
		[name, { kind, unit }]));
}

async function ask(address) {
	const answer = await fetch(address, { credentials: 'same-origin' });
	const lines = (await answer.text()).split('\n').filter((line) => line)
		.map((line) => JSON.parse(line));

	lines.columns = columnsIn(answer.headers.get('Cpuperf-Columns'));
	if (!answer.ok)
		throw new Error(`${lines[0].error}${lines[0].hint ? ` — ${lines[0].hint}` : ''}`);
	return lines;
}

/* --- tables --- */

/* Sums of the session's events, and what a target used: no events of it. */
const TIMES_OF_ALL = ['thread_time', 'wall_time', 'cpu_time'];

function eventOf(label) {
	return facts.events.find((e) => e.label === label) || { unit: '', scale: 1 };
}

function amountOf(row, count) {
	const event = eventOf(row.event);

	return TIMES_OF_ALL.includes(row.event) ? time(count) : amount(count * event.scale, event.unit);
}

function functionCell(name, object) {
	const cell = element('td', undefined, 'name');

	cell.append(anchor(name, linkTo('function', { name, object: object || '' })));
	return cell;
}

const SHARES = [
	{ name: 'Self', isNumber: true, of: (row) => shareOf(row, 'self') },
	{ name: 'Total', isNumber: true, of: (row) => shareOf(row, 'total') },
	{ name: 'Samples', isNumber: true, isExtra: true,
		of: (row) => cellOf(whole(row.self_samples), 'number') },
	{ name: 'Amount', isNumber: true, of: (row) => cellOf(amountOf(row, row.self_count), 'number') },
];

/* A number of a field: what was counted of an event, or in the unit of its column, or of its row. */
function numberOf(row, key, unit) {
	const event = facts.events.find((e) => key === `${e.label}_count`);
	const own = unit || (/^(value|mean|deviation|was|is)$/.test(key) && row.unit) || '';
	const value = row[key];

	if (row.event && /^(.*_)?count$/.test(key))
		return amountOf(row, value);
	if (event)
		return amount(value * event.scale, event.unit);
	if (own || Number.isInteger(value))
		return amount(value, own);
	return String(Number(value.toPrecision(4)));
}

function percentOf(row, key) {
	return percent(row[key] / 100);
}

function changeOf(row, key) {
	return `${row[key] > 0 ? '+' : ''}${percentOf(row, key)}`;
}

/* The texts of numbers, by what their column is (screen/grid.h). */
const TEXTS = {
	count: (row, key) => whole(row[key]),
	number: (row, key) => String(row[key]),
	cpu: (row, key) => String(row[key]),
	percent: percentOf,
	change: changeOf,
	estimate: (row, key, unit) => {
		const half = row[key] ? halfOf(row, key) / row[key] : 0;
		const end = (of) => numberOf({ ...row, [key]: Math.max(0, row[`${key}_${of}`]) }, key, unit);

		if (half >= 1)
			return `${end('low')} to ${end('high')}`;
		return `${numberOf(row, key, unit)}${half > 0 ? ` ± ${percent(half)}` : ''}`;
	},
	shift: (row, key, unit) => {
		const half = row[`${key}_half`];

		/* of a total there is no share */
		const own = row.was === null ? '%' : unit;

		return `${changeOf(row, key).replace('%', own)}${half > 0 ? ` ± ${ofHundred(half / 100)}` : ''}`;
	},
};

function fieldCell(row, key, { kind, unit }) {
	const value = row[key];

	if (kind === 'share')
		return shareOf(row, key);
	if (key === 'function')
		return functionCell(value, row.report === 'locks' ? '' : row.object); /* a lock's is of its variable */
	if (typeof value !== 'number')
		return cellOf({ true: 'yes', false: '' }[value] ?? value);
	return cellOf((TEXTS[kind] || numberOf)(row, key, unit), 'number');
}

/* Any report: its fields as columns, those that some row has, texts first; a number with its interval
 * as one. */
function columnsOf(rows, columns) {
	const row = Object.assign({}, ...rows.map((r) => Object.fromEntries(
		Object.entries(r).filter(([, value]) => value !== null && value !== ''))));
	const keys = Object.keys(rows[0]).filter((k) => k in row && k !== 'report' &&
		!/_(low|high)(_ns)?$|_half$/.test(k));
	const isText = (key) => typeof row[key] !== 'number' && key !== 'object';

	return [...keys.filter(isText), ...keys.filter((key) => !isText(key))].map((key) => ({
		name: key.replace(/_ns$/, ''), isNumber: typeof row[key] === 'number',
		of: (r) => fieldCell(r, key, columns.get(key) || {}) }));
}

function sectionOf(title, ...content) {
	const section = element('section');
	const heading = element('div', undefined, 'title');

	heading.append(element('h2', title));
	section.append(heading, ...content);
	return section;
}

/* Rows by event, in their order. */
function byEvent(rows) {
	const groups = new Map();

	rows.forEach((row) => {
		const key = row.event || '';

		groups.set(key, [...(groups.get(key) || []), row]);
	});
	return [...groups];
}

/* --- views --- */

async function showFunctions() {
	const search = here().get('search');
	const args = search ? { function: search } : {};
	const order = here().get('order') === 'total' ? { sort: 'total' } : {};
	const address = api('flat', { ...facts.arguments.flat, ...args, ...order });
	const rows = await ask(address);
	const columns = [...SHARES.map((c) => ({ ...c })),
		{ name: 'Function', of: (row) => functionCell(row.function, row.object) },
		{ name: 'Object', isExtra: true, of: (row) => cellOf(row.object, 'object') }];

	/* the heading of the one that they are not sorted by */
	const other = columns[order.sort ? 0 : 1];

	other.link = () => anchor(other.name, linkTo('flat', { search: search || '', order: order.sort ? '' : 'total' }));
	return { address, parts: byEvent(rows).map(([event, list]) => sectionOf(
		event || 'Functions', tableOf(list, columns, `Functions by ${event}`))) };
}

/* A function between its callers and its callees. */
function callsTable(self, calls, name, object) {
	const isIt = (n, o) => n === name && (!object || o === object);
	const shares = { className: '', ...self };
	const line = (call, end) => ({ ...call, part: self.total_count
		? 100 * call.count / self.total_count : null, other: call[end], object: call[`${end}_object`] });
	const callers = calls.filter((c) => isIt(c.callee, c.callee_object)).map((c) => line(c, 'caller'));
	const callees = calls.filter((c) => isIt(c.caller, c.caller_object)).map((c) => line(c, 'callee'));
	const columns = [
		{ name: 'Of all', isNumber: true, of: (r) => shareOf(r, r.isSelf ? 'self' : 'share') },
		{ name: 'Of the function', isNumber: true, of: (r) => shareOf(r, 'part') },
		{ name: 'Samples', isNumber: true, isExtra: true,
			of: (r) => cellOf(whole(r.isSelf ? r.samples_all : r.samples), 'number') },
		{ name: 'Amount', isNumber: true, isExtra: true,
			of: (r) => cellOf(amountOf(r, r.isSelf ? r.self_count : r.count), 'number') },
		{ name: 'Function', of: (r) => r.isSelf ? cellOf(name, 'name')
			: functionCell(r.other, r.object) },
		{ name: '', isExtra: true, of: (r) => cellOf(r.role, 'object') },
	];

	callers.sort((a, b) => a.count - b.count);
	callees.sort((a, b) => b.count - a.count);
	return tableOf([...callers.map((c) => ({ ...c, role: 'calls it' })),
		{ ...shares, isSelf: true, className: 'self', part: self.total_count
			? 100 * self.self_count / self.total_count : null, samples_all: self.self_samples,
		role: 'itself' },
		...callees.map((c) => ({ ...c, role: 'is called' }))], columns,
	`${name} between its callers and callees`);
}

async function showFunction() {
	const args = here();
	const name = args.get('name') || '';
	const object = args.get('object') || '';
	const glob = { function: exactly(name) };
	const address = api('calls', glob);
	const [selves, calls] = await Promise.all([
		ask(api('flat', { ...glob, sort: 'function,object' })),
		facts.reports.includes('calls') ? ask(address) : []]);
	const isIt = (row) => row.function === name && (!object || row.object === object);
	const parts = selves.filter(isIt).map((self) => sectionOf(`${name} — ${self.event}`,
		callsTable(self, calls.filter((c) => c.event === self.event), name, object)));

	if (!parts.length)
		parts.push(element('p', `No sample has ${name} on its stack.`));
	else if (facts.reports.includes('annotate'))
		parts.push(...await codeParts(glob, isIt));
	return { address, parts };
}

/* Stacks as nested boxes: direction icicle (the root on top), flame (at the bottom) or callers (from the
 * sampled functions to their callers). A click zooms to a frame: its number is in the address. */
const DIRECTIONS = { icicle: 'From the top', flame: 'From the bottom', callers: 'By callers' };
const FRAME_HEIGHT = 20;
const LEAST_WIDTH = 0.001; /* of the graph */

/* Names that differ in their last digit, as those of CPUs, are far apart. */
function hueOf(text) {
	let hash = 0;

	for (const c of text)
		hash = (hash * 31 + c.codePointAt(0)) % 360;
	return hash * 137 % 360;
}

/* Rows of a tree, in their order: those of a node follow it. Adds children, callers and depth. */
function nodesOf(rows) {
	const nodes = new Map();
	const roots = [];

	rows.forEach((row) => {
		const parent = nodes.get(row.parent);
		const node = { ...row, children: [], from: parent };

		nodes.set(row.node, node);
		(parent ? parent.children : roots).push(node);
	});
	return { nodes, roots };
}

/* Boxes of a node and what is below it, each where its caller begins, after its siblings. */
function placeFrames(node, left, scale, depth, out) {
	const width = node.total_count * scale;
	let at = left;

	if (width < LEAST_WIDTH)
		return;
	out.push({ node, left, width, depth });
	for (const child of node.children) {
		placeFrames(child, at, scale, depth + 1, out);
		at += child.total_count * scale;
	}
}

/* A box of a graph. at: left, width (of 1) and line. */
function boxOf(text, address, at, about, className) {
	const a = anchor(text, address, className);

	a.style.left = `${100 * at.left}%`;
	a.style.width = `${100 * at.width}%`;
	a.style.top = `${FRAME_HEIGHT * at.line}px`;
	a.title = about;
	return a;
}

function frameOf(frame, nr, direction, isFound) {
	const { node, left, width } = frame;
	const line = direction === 'flame' ? nr - 1 - frame.depth : frame.depth;
	const a = boxOf(node.function, linkTo('tree', { direction, node: node.node,
		search: here().get('search') || '' }), { left, width, line },
	`${node.function}\n${node.object}\ntotal ${percent(node.total / 100)}, self ${
		percent(node.self / 100)}, ${amountOf(node, node.total_count)}`, isFound(node) ? 'found' : '');

	a.style.setProperty('--hue', hueOf(node.object));
	return a;
}

function graphOf(rows, direction) {
	const { nodes, roots } = nodesOf(rows);
	const zoomed = nodes.get(Number(here().get('node')));
	const shown = zoomed ? [zoomed] : roots;
	const sum = shown.reduce((n, node) => n + node.total_count, 0);
	const search = (here().get('search') || '').toLowerCase();
	const isFound = (node) => search && node.function.toLowerCase().includes(search);
	const frames = [];
	const graph = element('div', undefined, 'flame');
	const path = element('p');
	let at = 0;

	for (const node of shown) {
		placeFrames(node, at, 1 / sum, 0, frames);
		at += node.total_count / sum;
	}
	const nr = frames.reduce((n, frame) => Math.max(n, frame.depth + 1), 0);

	graph.style.height = `${FRAME_HEIGHT * nr}px`;
	graph.append(...frames.map((frame) => frameOf(frame, nr, direction, isFound)));
	for (let node = zoomed; node; node = node.from) {
		path.prepend(anchor(node.function, linkTo('tree', { direction, node: node.node })),
			node === zoomed ? '' : ' › ');
	}
	if (zoomed) {
		path.prepend(anchor('all', linkTo('tree', { direction })), ' › ');
		path.append(' · ', anchor(`callers and callees of ${zoomed.function}`,
			linkTo('function', { name: zoomed.function, object: zoomed.object })));
	}
	return [path, graph];
}

async function showTree() {
	const direction = DIRECTIONS[here().get('direction')] ? here().get('direction') : 'icicle';
	const address = api(direction === 'callers' ? 'callers' : 'tree');
	const rows = await ask(address);
	const choice = element('p');

	Object.entries(DIRECTIONS).forEach(([name, about]) => {
		const a = anchor(about, linkTo('tree', { direction: name,
			search: here().get('search') || '' }));

		if (name === direction)
			a.setAttribute('aria-current', 'true');
		choice.append(a, ' ');
	});
	return { address, parts: [choice, ...byEvent(rows).map(([event, list]) =>
		sectionOf(event, ...graphOf(list, direction)))] };
}

/* Threads as lanes: of each slice of time, how much of it was in which state. */
const STATES = ['on CPU', 'waiting for a CPU', 'blocked', 'blocked or waiting for a CPU',
	'unknown (lost records)', 'idle'];

function svgOf(tag, attributes) {
	const e = document.createElementNS(byId('drawing').namespaceURI, tag);

	Object.entries(attributes).forEach(([name, value]) => e.setAttribute(name, value));
	return e;
}

function stateClass(state) {
	return `state-${Math.max(0, STATES.indexOf(state)) + 1}`;
}

/* A sample stands for the time before it, a wait for all of it until it ended: what has no room in
 * its slice was in those before. Calls draw(slice, state, below, height), parts of a slice. */
function fillLane(rows, from, nr, draw) {
	const counts = Array.from({ length: nr }, () => new Map());
	const carried = new Map(STATES.map((state) => [state, 0]));

	rows.forEach((row) => {
		const at = Math.min(nr - 1, Math.max(0, Math.floor((row.from_ns - from) / row.slice_ns)));

		counts[at].set(row.state, (counts[at].get(row.state) || 0) + row.count / row.slice_ns);
	});
	for (let at = nr - 1; at >= 0; at--) {
		let filled = 0;

		for (const [state, before] of carried) {
			const wanted = before + (counts[at].get(state) || 0);
			const height = Math.min(1 - filled, wanted);

			if (height > 0.001)
				draw(at, state, filled, height);
			filled += height;
			carried.set(state, wanted - height);
		}
	}
}

function laneOf(rows, from, nr) {
	const svg = svgOf('svg', { viewBox: `0 0 ${nr} 1`, preserveAspectRatio: 'none' });

	fillLane(rows, from, nr, (at, state, below, height) => svg.append(svgOf('rect',
		{ x: at, y: 1 - below - height, width: 1, height, class: stateClass(state) })));
	return svg;
}

function legendOf(rows) {
	const legend = element('div', undefined, 'legend');

	[...new Set(rows.map((row) => row.state))].forEach((state) => {
		const item = element('span');

		item.append(element('i', undefined, stateClass(state)), state || 'sampled');
		legend.append(item);
	});
	return legend;
}

async function showLanes() {
	const address = api('lanes');
	const rows = await ask(address);

	return { address, parts: byEvent(rows).map(([event, list]) => {
		const from = here().get('from')
			? list.reduce((n, row) => Math.min(n, row.from_ns), Infinity) : 0;
		const to = list.reduce((n, row) => Math.max(n, row.from_ns + row.slice_ns), 0);
		const nr = (to - from) / list[0].slice_ns;
		const lanes = element('div', undefined, 'lanes');

		for (const list_ of byThread(list)) {
			const name = threadName(list_[0]);
			const svg = laneOf(list_, from, nr);

			svg.setAttribute('role', 'img');
			svg.setAttribute('aria-label', name);
			lanes.append(list_[0].pid === null ? element('span', name)
				: anchor(name, linkTo('timeline', list_[0].tid === null
					? { pid: String(list_[0].pid) } : { tid: String(list_[0].tid) })), svg);
		}
		return sectionOf(`${event}, ${time(from)} to ${time(to)} since the start, in slices of ${
			time(list[0].slice_ns)}`, legendOf(list), lanes);
	}) };
}

/* Rows by thread, in their order. */
function byThread(rows) {
	const threads = new Map();

	rows.forEach((row) => {
		const key = `${row.session} ${row.pid} ${row.tid} ${row.thread}`;

		if (!threads.has(key))
			threads.set(key, []);
		threads.get(key).push(row);
	});
	return [...threads.values()];
}

/* Of several sessions also which one: its host, or its path where the host has several. */
function threadName({ comm, pid, tid, session, host }) {
	const of = facts.sessions.filter((s) => !s.is_before);
	const whose = of.length < 2 ? ''
		: ` @ ${of.filter((s) => s.host === host).length === 1 ? host : session}`;

	return `${pid === null ? comm
		: `${comm} ${pid === tid || tid === null ? pid : `${pid}/${tid}`}`}${whose}`;
}

/* The filters of a row's time: whole slices, since where in them its samples were is not known. */
function timesOf(row) {
	const slice = row.slice_ns || 1;

	return { from: `${slice * Math.floor(row.from_ns / slice)}ns`,
		to: `${slice * Math.ceil(row.to_ns / slice)}ns` };
}

/* Boxes of threads over time, a graph for each; a click shows the time of a box alone.
 * look: (row) => {text, about, className, hue}. */
function chartsOf(rows, view, look) {
	const from = rows.reduce((n, row) => Math.min(n, row.from_ns), Infinity);
	const to = rows.reduce((n, row) => Math.max(n, row.to_ns), 0);
	const chartOf = (list) => {
		const chart = element('div', undefined, 'flame');
		const nr = list.reduce((n, row) => Math.max(n, row.depth + 1), 0);

		chart.style.height = `${FRAME_HEIGHT * nr}px`;
		list.forEach((row) => {
			const width = (row.to_ns - row.from_ns) / (to - from);
			const { text, about, className, hue } = look(row);
			const a = boxOf(text, linkTo(view, { ...timesOf(row),
				search: here().get('search') || '' }),
			{ left: (row.from_ns - from) / (to - from), width, line: row.depth },
			`${about}\n${time(row.from_ns)} to ${time(row.to_ns)}`, className);

			a.style.setProperty('--hue', hue);
			chart.append(a);
		});
		return chart;
	};
	const all = element('p', `${time(from)} to ${time(to)} since the start. A click on a box shows its time alone.`);

	if (here().get('from') || here().get('to'))
		all.prepend(anchor('All time', linkTo(view, { from: '', to: '',
			search: here().get('search') || '' })), ' · ');
	return [all, ...byThread(rows).flatMap((list) => {
		const heading = element('h3');

		heading.append(list[0].pid === null ? list[0].comm : anchor(threadName(list[0]),
			linkTo('flat', { pid: String(list[0].pid) })));
		return [heading, chartOf(list)];
	})];
}

async function showTimeline() {
	const address = api('timeline');
	const rows = await ask(address);
	const search = (here().get('search') || '').toLowerCase();
	const isFound = (row) => search && row.function.toLowerCase().includes(search);
	const look = (row) => ({ text: row.function, hue: hueOf(row.object),
		className: `${isFound(row) ? 'found ' : ''}${row.state && row.state !== 'on CPU' ? 'waits' : ''}`,
		about: [row.function, row.object, row.state, row.samples ? `${whole(row.samples)} samples` : '']
			.filter((text) => text).join('\n') });

	return { address, parts: byEvent(rows).map(([event, list]) => sectionOf(event,
		...chartsOf(list, 'timeline', look),
		element('p', `Within ${time(list[0].slice_ns)} the order is not known: a shorter time has shorter ones.`))) };
}

/* Calls of regions over time, then what the report says of them. */
async function showRegions() {
	const address = api('spans');
	const rows = await ask(address);
	const look = (row) => ({ text: row.region || `${whole(row.calls)} calls`, className: '',
		hue: hueOf(row.region || ''),
		about: `${row.region || 'several regions'}, ${whole(row.calls)} ${row.calls === 1 ? 'call' : 'calls'}` });
	const table = await showTable('regions');

	return { address, parts: [...rows.length ? [sectionOf('In order of time',
		...chartsOf(rows, 'regions', look))] : [], ...table.parts] };
}

/* Source lines, then instructions, of one function; shares are of its samples. */
async function codeParts(glob, isIt) {
	const rows = (await ask(api('annotate', glob))).filter(isIt);

	return ['line', 'instruction'].flatMap((kind) => byEvent(rows.filter((r) => r.kind === kind))
		.map(([event, list]) => sectionOf(`${kind === 'line' ? 'Source lines' : 'Instructions'}${
			` — ${event}`}`, tableOf(withMarks(list), CODE, `${kind}s by ${event}`))));
}

/* Sessions beside each other: a column of shares for each. */
async function showSessions() {
	const address = api('flat', { 'by-session': 1, ...facts.arguments.flat });
	const rows = await ask(address);
	const sessions = [...new Set(rows.map((row) => row.session))];
	const merged = (list) => {
		const all = new Map();

		list.forEach((row) => {
			const key = JSON.stringify([row.function, row.object]);

			all.set(key, { ...all.get(key), event: row.event, function: row.function,
				object: row.object, [`at ${row.session}`]: row });
		});
		return [...all.values()];
	};
	const columns = [...sessions.map((session) => ({ name: session, isNumber: true,
		of: (row) => shareOf(row[`at ${session}`] || {}, 'self') })),
	{ name: 'Function', of: (row) => functionCell(row.function, row.object) },
	{ name: 'Object', isExtra: true, of: (row) => cellOf(row.object, 'object') }];

	return { address, parts: byEvent(rows).map(([event, list]) => sectionOf(event,
		tableOf(merged(list), columns, `Self by session, of ${event}`))) };
}

async function showTable(report) {
	const address = api(report);
	const rows = await ask(address);

	return { address, parts: byEvent(rows).map(([event, list]) => sectionOf(event || NAMES[report],
		tableOf(list, columnsOf(list, rows.columns).filter((c) => c.name !== 'event' || !event),
			NAMES[report]))) };
}

const VIEWS = { flat: showFunctions, function: showFunction, tree: showTree,
	timeline: showTimeline, regions: showRegions,
	sessions: showSessions, lanes: showLanes, summary: showCounts, series: showSeries };

/* --- the page --- */

function showFault(text) {
	const fault = byId('fault');

	fault.hidden = !text;
	fault.textContent = text;
}

function showNavigation(view) {
	const shown = facts.reports.filter((report) => NAMES[report]);

	byId('views').replaceChildren(...shown.map((report) => {
		const a = anchor(NAMES[report], linkTo(report));

		if (report === view || (report === 'flat' && view === 'function'))
			a.setAttribute('aria-current', 'page');
		return a;
	}), anchor('Whole page', `/html?${filtersOf(here())}`));
	if (facts.sessions.filter((s) => !s.is_before).length > 1 && facts.reports.includes('flat'))
		byId('views').append(anchor('Side by side', linkTo('sessions')));
}

function fieldOf(filter) {
	const label = element('label', `${filter.about} `, 'field');
	const input = element(filter.choose ? 'select' : 'input');

	input.name = filter.name;
	input.autocomplete = 'off';
	if (filter.choose) {
		input.append(new Option('all', ''), ...facts.events.filter((e) => e.is_sampled)
			.map((e) => new Option(e.label, e.label)));
		input.addEventListener('change', applyFilters);
	} else {
		input.placeholder = filter.hint;
	}
	label.append(input);
	return label;
}

function showFilters() {
	const search = element('input');
	const label = element('label', 'Search ', 'field');
	const submit = element('button', 'Apply');

	search.type = 'search';
	search.name = 'search';
	search.placeholder = 'part of a function’s name';
	label.append(search);
	byId('filters').replaceChildren(label, ...FILTERS.map(fieldOf), submit);
	byId('filters').addEventListener('submit', (event) => {
		event.preventDefault();
		applyFilters();
	});
}

function applyFilters() {
	const args = here();

	args.delete('node'); /* of another tree */
	for (const input of byId('filters').elements) {
		if (input.name && input.value.trim())
			args.set(input.name, input.value.trim());
		else if (input.name)
			args.delete(input.name);
	}
	if (args.get('search') && !['flat', 'tree', 'timeline'].includes(args.get('view')))
		args.set('view', 'flat');
	go(`?${args}`);
}

function fillFilters() {
	const args = here();

	for (const input of byId('filters').elements)
		if (input.name)
			input.value = args.get(input.name) || '';
}

async function show() {
	const number = ++shownNumber;
	const view = here().get('view') || facts.reports.find((r) => NAMES[r]);
	const main = byId('main');

	showFault('');
	showNavigation(view);
	fillFilters();
	main.setAttribute('aria-busy', 'true');
	try {
		const made = await (VIEWS[view] ? VIEWS[view]() : showTable(view));

		if (number !== shownNumber)
			return; /* another view was asked for meanwhile */
		main.replaceChildren(...made.parts);
		if (!made.parts.length)
			main.replaceChildren(element('p', 'Nothing was sampled or counted here.'));
		byId('data').href = made.address;
	} catch (fault) {
		if (number !== shownNumber)
			return;
		main.replaceChildren();
		showFault(fault.message);
	}
	main.setAttribute('aria-busy', 'false');
	showNotes();
}

async function showNotes() {
	const list = byId('warnings');

	[facts] = await ask('/api/session');
	list.hidden = !facts.notes.length;
	list.replaceChildren(...facts.notes.map((note) => element('li', note)));
}

function setTheme(name) {
	document.documentElement.dataset.theme = name;
}

async function begin() {
	const isDark = matchMedia('(prefers-color-scheme: dark)').matches;

	setTheme(isDark ? 'dark' : 'light');
	byId('theme').addEventListener('click', () =>
		setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark'));
	[facts] = await ask('/api/session');
	byId('title').textContent = byId('title').title = facts.sessions[0].title;
	byId('subtitle').textContent = facts.sessions.map((s) =>
		`${s.is_before ? 'before: ' : ''}${s.host} ${s.path}`).join(' · ');
	document.title = `${facts.sessions[0].title} — cpuperf`;
	showFilters();
	document.addEventListener('click', (event) => {
		const a = event.target.closest && event.target.closest('a[href^="?"]');

		if (!a || event.button || event.ctrlKey || event.metaKey || event.shiftKey)
			return;
		event.preventDefault();
		go(a.getAttribute('href'));
	});
	document.addEventListener('keydown', (event) => {
		if (event.key !== '/' || /^(INPUT|SELECT)$/.test(document.activeElement.tagName))
			return;
		event.preventDefault();
		byId('filters').elements.search.focus();
	});
	addEventListener('popstate', show);
	await show();
}

begin().catch((fault) => showFault(fault.message));
