/*
 * Counts and misc beside the axis of time: of each CPU a strip whose colour is the value, of each
 * process a row of a table.
 */
const STRIP_ROOM = 150; /* pixels for all CPUs of a strip, if they need no more than LEAST_STRIP each */
const LEAST_STRIP = 2, MOST_STRIP = 18;
const STRIP_LABEL = 40, STRIP_SCALE = 18;
const STRIPS_AT_FIRST = 6;
const PROCESSES_AT_ONCE = 30;

/* Lines of a kind by their event, in their order. */
function linesBy(series, kind) {
	const groups = new Map();

	for (const line of series)
		if (line.kind === kind)
			groups.set(line.of, [...(groups.get(line.of) || []), line]);
	return groups;
}

/* Has one number of all the time, which says nothing of its course. */
function isOnce(data, line) {
	return data.iterations.length <= 1 && line.least === line.most;
}

/* What a number of a line is called. */
function valueText(line, x) {
	return x === null || x === undefined ? 'no number' : amount(x, line.unit) + line.per;
}

/* The ends of a strip's colours: 0 or below; a share's 100 %, if none is beyond. */
function scaleOf(lines) {
	const [low, high] = boundsOf(lines.flatMap((line) => line.values));

	if (low > high)
		return [0, 1];
	return [low, lines[0].unit === '%' && low >= 0 && high <= 100 ? 100 : high || 1];
}

/* One event: CPUs as rows, time as columns. */
class Strip {
	constructor(page, name, lines) {
		const title = element('div', undefined, 'title');
		const scale = element('p', undefined, 'scale-of');

		this.page = page;
		this.name = name;
		this.lines = [...lines].sort((a, b) => a.cpu - b.cpu);
		this.scale = scaleOf(lines);
		this.at = null; /* row and column of what is said */
		this.card = element('article', undefined, 'chart');
		this.canvas = element('canvas');
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute('role', 'application');
		this.canvas.setAttribute('aria-roledescription', 'heat strip');
		this.canvas.setAttribute('aria-label', `${name} of ${plural(lines.length, 'CPU')} over time; arrows go from value to value`);
		this.said = element('p', undefined, 'said');
		this.said.setAttribute('role', 'status');
		scale.append(element('span', valueText(lines[0], this.scale[0])), element('i', undefined, 'heat'),
			element('span', valueText(lines[0], this.scale[1])));
		title.append(element('h3', name), scale);
		this.card.append(title, this.canvas, this.said);
		this.context = this.canvas.getContext('2d');
		this.listen();
		this.say();
	}

	listen() {
		const { canvas } = this;

		canvas.addEventListener('pointermove', (event) => this.point(event.offsetX, event.offsetY));
		canvas.addEventListener('pointerleave', () => this.point(-1, -1));
		canvas.addEventListener('keydown', (event) => this.key(event));
		canvas.addEventListener('blur', () => this.go(null));
	}

	get nrColumns() {
		return this.lines[0].values.length;
	}

	/* Where a column begins. */
	xOf(column) {
		return STRIP_LABEL + column / this.nrColumns * Math.max(1, this.canvas.clientWidth - STRIP_LABEL);
	}

	point(x, y) {
		const column = Math.floor((x - STRIP_LABEL) / Math.max(1, this.canvas.clientWidth - STRIP_LABEL) * this.nrColumns);
		const row = Math.floor(y / this.height);

		this.go(column >= 0 && column < this.nrColumns && row >= 0 && row < this.lines.length ? { row, column } : null);
	}

	go(at) {
		this.at = at;
		this.say();
		this.draw();
	}

	key(event) {
		const [down, right] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] || [];

		if (event.key === 'Escape')
			this.go(null);
		else if (down === undefined)
			return;
		else if (this.at === null)
			this.go({ row: 0, column: 0 });
		else
			this.go({ row: Math.max(0, Math.min(this.lines.length - 1, this.at.row + down)),
				column: Math.max(0, Math.min(this.nrColumns - 1, this.at.column + right)) });
		event.preventDefault();
	}

	/* At the pointer, else the CPUs with the least and the most. */
	say() {
		const { data } = this.page;
		const by = [...this.lines].sort((a, b) => a.mean - b.mean);
		const least = by[0], most = by[by.length - 1];

		if (this.at) {
			const line = this.lines[this.at.row];
			const ns = data.series_start_ns + this.at.column / this.nrColumns * data.series_span_ns;

			this.said.textContent = `CPU ${line.cpu} at ${time(ns)}: ${valueText(line, line.values[this.at.column])}`;
		} else {
			this.said.textContent = this.lines.length > 1
				? `mean of CPU ${most.cpu} ${valueText(most, most.mean)}, of CPU ${least.cpu} ${valueText(least, least.mean)}`
				: `mean ${valueText(most, most.mean)}`;
		}
	}

	colorOf(value) {
		const [low, high] = this.scale;

		return value === null ? null : this.page.colors.ofHeat((value - low) / (high - low || 1));
	}

	layOut() {
		this.height = Math.max(LEAST_STRIP, Math.min(MOST_STRIP, Math.floor(STRIP_ROOM / this.lines.length)));
		resize(this.canvas, this.height * this.lines.length + STRIP_SCALE);
		this.draw();
	}

	draw() {
		const { context: c, canvas } = this;
		const every = Math.ceil(12 / this.height); /* rows to a label */
		const gap = this.height > 6 ? 1 : 0;

		prepare(c, canvas);
		c.font = this.page.smallFont;
		c.textBaseline = 'middle';
		this.lines.forEach((line, row) => {
			const y = row * this.height;

			line.values.forEach((value, column) => {
				const left = Math.round(this.xOf(column));

				if (value === null)
					return;
				c.fillStyle = this.colorOf(value);
				c.fillRect(left, y, Math.max(1, Math.round(this.xOf(column + 1)) - left), this.height - gap);
			});
			c.fillStyle = this.page.colors.soft;
			if (row % every === 0)
				c.fillText(row ? line.cpu : `CPU ${line.cpu}`, 0, y + Math.min(this.height, 12) / 2 + 0.5, STRIP_LABEL - 4);
		});
		this.drawScale();
		if (this.at) {
			c.strokeStyle = this.page.colors.text;
			c.lineWidth = 1.5;
			c.strokeRect(this.xOf(this.at.column) - 1, this.at.row * this.height - 1,
				Math.max(3, this.xOf(1) - this.xOf(0)) + 2, this.height + 2 - gap);
		}
	}

	drawScale() {
		const { context: c } = this;
		const { series_start_ns: start, series_span_ns: span } = this.page.data;
		const y = this.height * this.lines.length + STRIP_SCALE / 2 + 2;
		const end = time(start + span);
		const width = this.canvas.clientWidth;

		c.fillStyle = this.page.colors.soft;
		c.fillText(start ? time(start) : '0', STRIP_LABEL, y);
		c.fillText(end, width - c.measureText(end).width, y);
	}
}

/* The strips: those with a value that is not 0 first. */
class HeatView {
	constructor(page) {
		this.strips = [...linesBy(page.data.series, 'cpu')].map(([name, lines]) => new Strip(page, name, lines));

		const isEmpty = (strip) => strip.lines.every((line) => line.values.every((value) => !value));
		const some = this.strips.filter((strip) => !isEmpty(strip));
		const none = this.strips.filter(isEmpty);

		this.shown = some.slice(0, STRIPS_AT_FIRST);
		byId('heat').hidden = some.length === 0;
		byId('strips').replaceChildren(...this.shown.map((strip) => strip.card));
		byId('more-strips').hidden = some.length <= STRIPS_AT_FIRST;
		byId('more-strips').textContent = `Show ${whole(some.length - this.shown.length)} more`;
		byId('more-strips').addEventListener('click', () => {
			this.shown = some;
			byId('strips').replaceChildren(...some.map((strip) => strip.card));
			byId('more-strips').hidden = true;
			this.layOut();
		});
		byId('empty-strips').textContent = none.length && some.length ? `0 on each CPU: ${none.map((strip) => strip.name).join(', ')}` : '';
		this.layOut();
	}

	layOut() {
		this.shown.forEach((strip) => strip.layOut());
	}

	draw() {
		this.shown.forEach((strip) => strip.draw());
	}
}

/* Counts that have one number of all the time, as a table. */
function showCounts(data) {
	const lines = rowsOf(data.series).filter((line) => isOnce(data, line));

	byId('counts').hidden = lines.length === 0;
	document.querySelector('#count-rows tbody').replaceChildren(...lines.map((line) => {
		const row = element('tr');

		row.append(element('td', line.label), element('td', valueText(line, line.mean), 'number'), element('td', line.note, 'object'));
		return row;
	}));
}

/* A table that is sorted by a click on a heading; by: -1: in the order of its rows. columns: name, about, isText, of: (row) => key,
 * cell: (row, table) => the cell. A button shows more than so many rows. */
class SortedTable {
	constructor(table, more, nrShown, columns, by) {
		Object.assign(this, { table, more, nrShown });
		this.columns = columns;
		this.by = by;
		this.isDown = by >= 0 && !columns[by].isText;
		this.rows = [];
		this.headers = columns.map((column, i) => {
			const cell = element('th', undefined, column.isText ? '' : 'number');
			const button = element('button', column.name);

			cell.scope = 'col';
			button.type = 'button';
			button.title = column.about || '';
			button.addEventListener('click', () => this.sortBy(i));
			cell.append(button);
			return cell;
		});
		table.querySelector('thead tr').replaceChildren(...this.headers);
		more.type = 'button';
		more.addEventListener('click', () => {
			this.nrShown *= 5;
			this.show();
		});
	}

	classOf(row) {
		return row.className;
	}

	sortBy(i) {
		this.isDown = this.by === i ? !this.isDown : !this.columns[i].isText;
		this.by = i;
		this.show();
	}

	sorted() {
		const of = this.by < 0 ? () => 0 : this.columns[this.by].of;
		const order = this.isDown ? -1 : 1;

		return this.rows.map((row, i) => ({ row, i, key: of(row) })).sort((a, b) =>
			(a.key < b.key ? -1 : a.key > b.key ? 1 : 0) * order || a.i - b.i).map((item) => item.row);
	}

	show() {
		this.headers.forEach((cell, i) => {
			if (i === this.by)
				cell.setAttribute('aria-sort', this.isDown ? 'descending' : 'ascending');
			else
				cell.removeAttribute('aria-sort');
		});
		this.table.querySelector('tbody').replaceChildren(...this.sorted().slice(0, this.nrShown).map((row) => {
			const line = element('tr', undefined, this.classOf(row));

			line.append(...this.columns.map((column) => column.cell(row, this)));
			return line;
		}));
		this.more.hidden = this.rows.length <= this.nrShown;
		this.more.textContent = `Show more of ${whole(this.rows.length - this.nrShown)}`;
	}
}

/* "1234 name": its number and its name; of what is no process the name alone. */
function processOf(thing) {
	const match = /^(\d+) (.*)$/s.exec(thing);

	return match ? { pid: Number(match[1]), name: match[2] } : { pid: -1, name: thing };
}

class ProcessTable extends SortedTable {
	constructor(page) {
		const groups = linesBy(page.data.series, 'process');
		const rows = new Map();

		super(byId('process-rows'), byId('more-processes'), PROCESSES_AT_ONCE, columnsOfProcesses(groups), groups.size ? 2 : -1);
		byId('processes').hidden = groups.size === 0;
		for (const [event, lines] of groups)
			for (const line of lines) {
				const row = rows.get(line.thing) || { ...processOf(line.thing), lines: new Map() };

				row.lines.set(event, line);
				rows.set(line.thing, row);
			}
		this.all = [...rows.values()];
		byId('process-filter').addEventListener('input', () => this.show());
		this.show();
	}

	show() {
		const wanted = byId('process-filter').value.trim().toLowerCase();

		this.rows = this.all.filter((row) => `${row.pid} ${row.name}`.toLowerCase().includes(wanted));
		super.show();
		byId('counted-processes').textContent = wanted ? `${whole(this.rows.length)} of ${whole(this.all.length)}`
			: `${whole(this.all.length)}, means of the time in which each was there`;
	}
}

function columnsOfProcesses(groups) {
	const most = (lines) => Math.max(...lines.map((line) => line.mean), 0);
	const numbers = [...groups].map(([event, lines]) => ({
		name: event.replace(/^process_/, '').replaceAll('_', ' '),
		about: `${event}, mean of the time in which it was there; at a place its range`, high: most(lines),
		of: (row) => (row.lines.get(event) || { mean: -Infinity }).mean,
		cell: (row) => processCell(row.lines.get(event), most(lines)),
	}));

	return [
		{ name: 'Process', about: 'Its number', of: (row) => row.pid,
			cell: (row) => element('td', row.pid < 0 ? '' : row.pid, 'number') },
		{ name: 'Name', about: '', isText: true, of: (row) => row.name,
			cell: (row) => element('td', row.name, 'name') },
		...numbers];
}

/* A number with a bar of its part of the largest one. */
function processCell(line, high) {
	const cell = element('td', undefined, 'number share');
	const bar = element('i');

	if (!line)
		return cell;
	bar.style.width = `${high > 0 ? Math.max(0, Math.min(100, 100 * line.mean / high)) : 0}%`;
	cell.append(bar, element('span', valueText(line, line.mean)));
	cell.title = `${valueText(line, line.least)} … ${valueText(line, line.most)}${line.note ? `; ${line.note}` : ''}`;
	return cell;
}
