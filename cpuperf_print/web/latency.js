/*
 * Latencies: a chart of each event and part, over a logarithmic axis of time, and its numbers.
 */
const CHART_HEIGHT = 132;
const CHART_SCALE = 20;
const PER_OCTAVE = 4; /* bars to a power of two */

/* A section of charts, which is hidden if there are none. */
class ChartSection {
	constructor(section, list, charts) {
		this.charts = charts;
		byId(section).hidden = charts.length === 0;
		byId(list).replaceChildren(...charts.map((chart) => chart.card));
		this.layOut();
	}

	layOut() {
		for (const chart of this.charts)
			chart.layOut();
	}

	draw() {
		for (const chart of this.charts)
			chart.draw();
	}
}

function latencyCharts(page) {
	return groupsOf(page.data.latencies || []).map((group) => new LatencyChart(page, group));
}

/* Rows of one event and part: first all of it, then what it is of. */
function groupsOf(rows) {
	const groups = [];

	for (const row of rows) {
		if (row.what === '' || !groups.length)
			groups.push([]);
		groups[groups.length - 1].push(row);
	}
	return groups;
}

class LatencyChart {
	constructor(page, rows) {
		const [first] = rows;
		const name = first.part ? `${first.label}, ${first.part}` : first.label;
		const title = element('div', undefined, 'title');
		const wide = element('div', undefined, 'wide');

		this.page = page;
		this.row = first;
		this.card = element('article', undefined, 'chart');
		this.canvas = element('canvas');
		this.canvas.setAttribute('role', 'img');
		this.numbers = element('table');
		this.said = element('p', undefined, 'hint');
		title.append(element('h3', name), this.said);
		if (rows.length > 1)
			title.append(this.makeChoice(rows, name));
		wide.append(this.numbers);
		this.card.append(title, this.canvas, wide);
		this.context = this.canvas.getContext('2d');
		this.canvas.addEventListener('pointermove', (event) => this.point(event.offsetX));
		this.canvas.addEventListener('pointerleave', () => this.point(null));
		this.name = name;
		this.show();
	}

	makeChoice(rows, name) {
		const select = element('select');

		select.setAttribute('aria-label', `What ${name} is of`);
		rows.forEach((row, i) => select.append(choice(i,
			row.what ? `${row.what}: ${whole(row.now.count)}` : 'all')));
		select.addEventListener('change', () => {
			this.row = rows[Number(select.value)];
			this.show();
			this.draw();
		});
		return select;
	}

	/* The sides, of which the older one may be missing. */
	get sides() {
		return [this.row.now, this.row.before].filter((side) => side);
	}

	show() {
		this.bars = this.sides.map(barsOf);
		this.said.textContent = this.describe();
		this.canvas.setAttribute('aria-label', `Histogram of ${this.name}; its numbers follow as a table`);
		this.showNumbers();
	}

	describe() {
		return this.sides.map((side, i) => `${i ? 'before: ' : ''}${whole(side.count)}, mean ${time(side.mean)}`)
			.join('; ');
	}

	showNumbers() {
		const head = element('tr'), body = element('tbody'), top = element('thead');
		const names = this.row.now.quantiles.map(([name]) => name);

		head.append(...(this.sides.length > 1 ? [element('th', '')] : []),
			...[...names, 'max'].map((name) => element('th', name, 'number')));
		this.sides.forEach((side, i) => {
			const line = element('tr');

			if (this.sides.length > 1)
				line.append(element('td', i ? 'before' : 'now'));
			line.append(...side.quantiles.map(([, ns, low, high]) => {
				const cell = element('td', time(ns), 'number');

				cell.title = high === null ? `95 % interval: from ${time(low)}, no upper bound`
					: `95 % interval: ${time(low)} to ${time(high)}`;
				cell.append(element('small', high === null ? `≥ ${time(low)}` : `${time(low)} – ${time(high)}`));
				return cell;
			}), element('td', time(side.max), 'number'));
			body.append(line);
		});
		top.append(head);
		this.numbers.replaceChildren(top, body);
	}

	layOut() {
		resize(this.canvas, CHART_HEIGHT);
		this.draw();
	}

	/* From the shortest bar to the longest, of both sides. */
	range() {
		const all = this.bars.flat();
		const low = placeOf(Math.min(...all.map((bar) => bar.low)));
		const high = placeOf(Math.max(...all.map((bar) => bar.high)));

		return [low - 0.3, Math.max(high + 0.3, low + 2)];
	}

	xOf(ns) {
		const [low, high] = this.range();

		return (placeOf(ns) - low) / (high - low) * this.canvas.clientWidth;
	}

	draw() {
		const { context: c, canvas, page } = this;
		const room = CHART_HEIGHT - CHART_SCALE - 16;
		const { colors } = page;

		this.colors = colors;
		prepare(c, canvas);
		const most = Math.max(...this.bars.flat().map((bar) => bar.share));
		this.bars.forEach((bars, i) => {
			for (const bar of bars) {
				/* what is rare is still seen */
				const height = Math.max(2, bar.share / most * room);
				const left = this.xOf(bar.low), width = this.xOf(bar.high) - left;

				if (i) {
					c.strokeStyle = colors.soft;
					c.lineWidth = 1;
					c.strokeRect(left + 0.5, CHART_HEIGHT - CHART_SCALE - height, Math.max(1, width - 1), height);
				} else {
					c.fillStyle = bar.low === this.pointed ? colors.accent : colors.bars;
					c.fillRect(left, CHART_HEIGHT - CHART_SCALE - height, Math.max(1, width - 1), height);
				}
			}
		});
		this.drawScale();
		this.drawQuantiles();
	}

	drawScale() {
		const { context: c, colors } = this;
		const [low, high] = this.range();
		const y = CHART_HEIGHT - CHART_SCALE;
		let end = -Infinity;

		c.fillStyle = colors.line;
		c.fillRect(0, y, this.canvas.clientWidth, 1);
		c.font = this.page.smallFont;
		c.textBaseline = 'middle';
		for (const ns of marksOf(low, high)) {
			const x = this.xOf(ns);
			const text = time(ns).replace(/\.0+ /, ' ');

			c.fillStyle = colors.line;
			c.fillRect(x, y, 1, 5);
			c.fillStyle = colors.soft;
			if (x > end && x + c.measureText(text).width + 3 < this.canvas.clientWidth) {
				c.fillText(text, x + 3, y + 11);
				end = x + c.measureText(text).width + 10;
			}
		}
	}

	/* The names of those that are close together stand side by side, from the right. */
	drawQuantiles() {
		const { context: c, colors } = this;
		let free = this.canvas.clientWidth;

		c.font = this.page.smallFont;
		c.textBaseline = 'middle';
		for (const [name, ns] of [...this.row.now.quantiles].reverse()) {
			const x = this.xOf(ns);
			const width = c.measureText(name).width;
			const left = Math.min(x + 3, free - width - 4);

			c.fillStyle = colors.lit;
			c.fillRect(x, 12, 1, CHART_HEIGHT - CHART_SCALE - 12);
			if (left > 0) {
				c.fillText(name, left, 7);
				free = left;
			}
		}
	}

	point(x) {
		const bar = x === null ? undefined
			: this.bars[0].find((b) => this.xOf(b.low) <= x && x < this.xOf(b.high));

		this.pointed = bar ? bar.low : null;
		this.said.textContent = bar
			? `${whole(bar.count)} (${percent(bar.share)}) from ${time(bar.low)} to ${time(bar.high)}`
			: this.describe();
		this.draw();
	}
}

/* 1, 2, 5 of each power of ten; of a long axis the powers alone. */
function marksOf(low, high) {
	const steps = high - low > 12 ? [1] : [1, 2, 5];
	const marks = [];

	for (let ten = 1; placeOf(ten) <= high; ten *= 10)
		marks.push(...steps.map((step) => step * ten));
	return marks.filter((ns) => placeOf(ns) >= low && placeOf(ns) <= high);
}

/* Where a time is on the axis. */
function placeOf(ns) {
	return Math.log2(Math.max(1, ns));
}

/* Buckets are 16 to a power of two, or a nanosecond: four of them are a bar. */
function barsOf(side) {
	const bars = new Map();

	for (let i = 0; i < side.buckets.length; i += 3) {
		const [first, , count] = side.buckets.slice(i, i + 3);
		const base = 2 ** Math.floor(placeOf(first));
		const step = base / PER_OCTAVE;
		const low = base + Math.floor((Math.max(1, first) - base) / step) * step;
		const bar = bars.get(low) || { low, high: low + step, count: 0 };

		bar.count += count;
		bar.share = bar.count / side.count;
		bars.set(low, bar);
	}
	return [...bars.values()].sort((a, b) => a.low - b.low);
}
