/*
 * Sessions that count: totals of each event, and its course over time.
 */
const TOP_THINGS = 10, TOP_LINES = 5;
const LINE_WIDTH = 1000, LINE_HEIGHT = 100;

/* Rows by what of() says of them, in their order. */
function groupsOf(rows, of) {
	const groups = new Map();

	for (const row of rows) {
		const list = groups.get(of(row));

		if (list)
			list.push(row);
		else
			groups.set(of(row), [row]);
	}
	return groups;
}

function meanOf(list) {
	return list.reduce((sum, x) => sum + x, 0) / list.length;
}

/* Of rows with numbers, each of its time; values that were read have none. */
function meanOfTime(rows) {
	const weightOf = rows.every((row) => row.span_ns > 0) ? (row) => row.span_ns : () => 1;

	return rows.reduce((sum, row) => sum + row.value * weightOf(row), 0) /
		rows.reduce((sum, row) => sum + weightOf(row), 0);
}

function numberCell(row, value) {
	return cellOf(value === null || value === undefined ? '' : amount(value, row.unit), 'number');
}

const TOTALS = [
	{ name: 'Event', of: (row) => cellOf(row.label, 'name') },
	{ name: 'Total', isNumber: true, of: (row) => numberCell(row, row.total) },
	{ name: 'Mean', isNumber: true, of: (row) => numberCell(row, row.mean) },
	{ name: 'Deviation', isNumber: true, isExtra: true, of: (row) => numberCell(row, row.deviation) },
	{ name: 'Least', isNumber: true, isExtra: true, of: (row) => numberCell(row, row.min) },
	{ name: 'Most', isNumber: true, isExtra: true, of: (row) => numberCell(row, row.max) },
];

/* Those with most of each event: their sums of counts, their means of others. */
function thingsOf(rows) {
	const ofThings = rows.filter((row) => row.thing && row.cpu === 'all' && row.value !== null);

	return [...groupsOf(ofThings, (row) => row.label).values()].flatMap((list) => {
		const sums = [...groupsOf(list, (row) => row.thing).values()].map((own) => {
			const mean = meanOf(own.map((row) => row.value));

			return { ...own[0], mean, total: own[0].kind === 'count' ? mean * own.length : null };
		});

		return sums.sort((a, b) => b.mean - a.mean).slice(0, TOP_THINGS);
	});
}

/* What could not be measured, a line for each reason. */
function missingOf(totals) {
	const missing = totals.filter((row) => row.mean === null);

	return [...groupsOf(missing, (row) => row.reason)].map(([reason, list]) => element('p',
		`Not measured: ${list.map((row) => row.label).join(', ')}${reason ? ` (${reason})` : ''}`));
}

async function showCounts() {
	const address = api('summary');
	const parts = [...groupsOf(await ask(address), (row) => row.session || '')].flatMap(([session, rows]) => {
		const totals = rows.filter((row) => row.summary);
		const measured = totals.filter((row) => row.mean !== null);
		const things = thingsOf(rows);

		return [sectionOf(session || 'Counts', ...measured.length ? [tableOf(measured, TOTALS, 'Totals')] : [],
			...missingOf(totals)),
		...things.length ? [sectionOf(`${session ? `${session}: of` : 'Of'} each thing`,
			tableOf(things, [{ name: 'Thing', of: (row) => cellOf(row.thing, 'name') },
				...TOTALS.slice(0, 3)], 'Things with most of each event'))] : []];
	});

	return { address, parts };
}

/* --- over time --- */

/* Of a line: name, points (rows with numbers, and null where there is a gap), mean. */
function linesOf(rows) {
	const all = rows.filter((row) => row.cpu === 'all');
	const nameOf = (row) => row.thing_name || (row.thing === null ? '' : String(row.thing)) ||
		(row.cpu === 'all' ? 'all' : `CPU ${row.cpu}`);

	return [...groupsOf(all.length ? all : rows, nameOf)].map(([name, list]) => ({ name,
		points: list.map((row) => (row.value === null ? null : row)),
		numbers: list.filter((row) => row.value !== null) }))
		.filter((line) => line.numbers.length)
		.map((line) => ({ ...line, values: line.numbers.map((row) => row.value), mean: meanOfTime(line.numbers) }))
		.sort((a, b) => (b.name === 'all') - (a.name === 'all') || b.mean - a.mean);
}

/* A number is of all its time: a step. A gap begins a new part of the path. */
function pathOf(points, end, low, high) {
	let isOn = false;

	return points.map((row) => {
		const wasOn = isOn;

		isOn = row !== null;
		if (!isOn)
			return '';
		const x = LINE_WIDTH * row.time_ns / end;
		const from = Math.max(0, Math.min(x - 1, LINE_WIDTH * (row.time_ns - row.span_ns) / end));
		const y = (LINE_HEIGHT * (high - Math.min(high, row.value)) / (high - low || 1)).toFixed(2);

		return `${wasOn ? 'L' : 'M'}${from.toFixed(2)} ${y}H${x.toFixed(2)}`;
	}).join('');
}

/* What is more than possible, as a bar above its time. What exceeds it by rounding is not marked. */
function overOf(points, end) {
	return points.filter((row) => row !== null && isOver(row)).map((row) => {
		const to = LINE_WIDTH * row.time_ns / end;
		const from = Math.max(0, Math.min(to - 1, LINE_WIDTH * (row.time_ns - row.span_ns) / end));

		return `M${from.toFixed(2)} 1H${to.toFixed(2)}`;
	}).join('');
}

function isOver(row) {
	return row.limit !== null && row.value > OVER_LIMIT * row.limit;
}

/* The top of the axis: all that is possible if a value is near it. */
function highOf(rows, low, unit) {
	const ofMost = rows.reduce((a, b) => (b.value > a.value ? b : a), rows[0]);
	const most = Math.max(0, ofMost.value);

	if (ofMost.limit !== null && ofMost.limit !== undefined && most >= NEAR_LIMIT * ofMost.limit)
		return ofMost.limit;
	return unit === '%' && low === 0 && most <= 100 ? 100 : most || 1;
}

function courseOf(label, rows, end) {
	const lines = linesOf(rows);
	const points = lines.flatMap((line) => line.points).filter((row) => row !== null);
	const { unit } = rows[0];
	const low = points.reduce((least, row) => Math.min(least, row.value), 0);
	const high = highOf(points, low, unit);
	const over = overOf(points, end);
	const svg = svgOf('svg', { viewBox: `0 0 ${LINE_WIDTH} ${LINE_HEIGHT}`, preserveAspectRatio: 'none', role: 'img' });
	const legend = element('div', undefined, 'legend');
	const box = element('div', undefined, 'course');

	lines.slice(0, TOP_LINES).forEach((line) => {
		const path = svgOf('path', { d: pathOf(line.points, end, low, high) });
		const item = element('span');
		const mark = element('i');

		path.style.setProperty('--hue', hueOf(line.name));
		mark.style.setProperty('--hue', hueOf(line.name));
		item.append(mark, `${line.name}: mean ${amount(line.mean, unit)}, most ${
			amount(line.values.reduce((x, y) => Math.max(x, y), line.values[0]), unit)}`);
		svg.append(path);
		legend.append(item);
	});
	if (lines.length > TOP_LINES)
		legend.append(element('span', `and ${whole(lines.length - TOP_LINES)} more`));
	if (over)
		svg.append(svgOf('path', { d: over, class: 'over' }));
	svg.setAttribute('aria-label', `${label} over time`);
	box.append(svg, element('small', `${amount(low, unit)} to ${amount(high, unit)}${
		points.some((row) => row.limit === high) ? ', all that is possible' : ''}, over ${time(end)}${
		over ? '; marked: more than possible' : ''}`));
	return sectionOf(label, legend, box);
}

/* Of one event, which may have numbers of several kinds: samples and time, calls and quantiles. */
function coursesOf(label, rows, end) {
	const groups = [...groupsOf(rows, (row) => row.unit)]
		.filter(([, list]) => list.some((row) => row.value !== null) && !isOnce(list));

	return groups.map(([unit, list]) => courseOf(new Set(rows.map((row) => row.unit)).size > 1 ? `${label}, ${unit}` : label, list, end));
}

/* One number each of all the time: no course. */
function isOnce(rows) {
	return linesOf(rows).every((line) => line.values.length === 1 && line.points.length === 1);
}

const ONCE = [
	{ name: 'Event', of: (row) => cellOf(row.label, 'name') },
	{ name: 'Of', of: (row) => cellOf(row.name === 'all' ? '' : row.name) },
	{ name: 'Mean', isNumber: true, of: (row) => numberCell(row, row.value) },
];

/* Of all events, those numbers. */
function onceOf(session, rows) {
	const once = [...groupsOf(rows, (row) => `${row.label} ${row.unit}`).values()].filter(isOnce).flatMap((list) =>
		linesOf(list).map((line) => ({ ...line.points[0], name: line.name })));

	return once.length ? [sectionOf(`${session ? `${session}: of` : 'Of'} all the time`, tableOf(once, ONCE, 'One number each'))] : [];
}

async function showSeries() {
	const address = api('series');
	const sessions = groupsOf(await ask(address), (row) => row.session || '');
	const parts = [...sessions].flatMap(([session, rows]) => {
		const end = rows.reduce((last, row) => Math.max(last, row.time_ns), 1);

		return [...[...groupsOf(rows, (row) => row.label)].flatMap(([label, list]) =>
			coursesOf(session ? `${label} — ${session}` : label, list, end)), ...onceOf(session, rows)];
	});

	return { address, parts };
}
