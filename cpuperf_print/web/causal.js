/*
 * Experiments: a curve of what each function, faster by so much, would save, with the interval as a band, and beside it
 * what the recorded run says. All charts have one scale.
 */
const CURVE_HEIGHT = 160;
const CURVE_LEFT = 44, CURVE_BOTTOM = 20, CURVE_TOP = 8;
const FARTHEST = 100; /* beyond it an interval says nothing */

function experimentCharts(page) {
	const rows = (page.data.experiments || []).flatMap((report) => report.rows);
	const range = rangeOf(rows);

	return curvesOf(rows).map((curve) => new ExperimentChart(page, curve, range));
}

function isNumber(x) {
	return typeof x === 'number';
}

/* Rows of one function, line, or region, in the order of the amounts. */
function curvesOf(rows) {
	const curves = new Map();

	for (const row of rows) {
		const key = JSON.stringify([row.object, row.function, row.region, row.source, row.line, row.quantity, row.point]);

		curves.set(key, [...(curves.get(key) || []), row]);
	}
	return [...curves.values()].map((curve) => curve.sort((a, b) => a.speedup - b.speedup));
}

function rangeOf(rows) {
	const all = rows.flatMap((row) => [row.saves, row.saves_low, row.saves_high, row.recorded]).filter(isNumber)
		.map((x) => Math.max(-FARTHEST, Math.min(FARTHEST, x)));

	return [Math.min(0, ...all), Math.max(1, ...all)];
}

function saving(x) {
	return `${x.toFixed(1)} %`.replace('-', '−');
}

function bandText(low, high) {
	return isNumber(low) && isNumber(high) ? `${saving(low)} to ${saving(high)}` : 'not known';
}

class ExperimentChart {
	constructor(page, rows, range) {
		const [first] = rows;
		const title = element('div', undefined, 'title');
		const wide = element('div', undefined, 'wide');

		this.page = page;
		this.rows = rows;
		this.range = range;
		this.name = first.region ? `region ${first.region}` : first.line ? `${first.function}, line ${first.line}` : first.function;
		this.card = element('article', undefined, 'chart');
		this.canvas = element('canvas');
		this.canvas.setAttribute('role', 'img');
		this.canvas.setAttribute('aria-label', `What ${this.name} would save, if it were faster; its numbers follow as a table`);
		this.said = element('p', undefined, 'hint');
		title.append(element('h3', this.name), this.said);
		wide.append(this.makeNumbers());
		this.card.append(title, this.canvas, wide);
		this.context = this.canvas.getContext('2d');
		this.canvas.addEventListener('pointermove', (event) => this.point(event.offsetX));
		this.canvas.addEventListener('pointerleave', () => this.point(null));
		this.said.textContent = this.describe();
	}

	describe() {
		const [{ on_cpu: onCpu, object, quantity, point }] = this.rows;
		const of = quantity === 'wall' ? '' : `; ${quantity} at ${point}`;

		return `${isNumber(onCpu) ? `${saving(onCpu)} of the CPU time` : object}${of}`;
	}

	makeNumbers() {
		const table = element('table'), top = element('thead'), head = element('tr'), body = element('tbody');

		head.append(...['faster by', 'saves', 'by the recorded run'].map((name) => element('th', name, 'number')));
		top.append(head);
		body.append(...this.rows.map((row) => {
			const line = element('tr');
			const made = element('td', isNumber(row.saves) ? saving(row.saves) : '', 'number');
			const recorded = element('td', isNumber(row.recorded) ? saving(row.recorded) : '', 'number');

			if (isNumber(row.saves))
				made.append(element('small', bandText(row.saves_low, row.saves_high)));
			if (isNumber(row.recorded))
				recorded.append(element('small', `${bandText(row.recorded_low, row.recorded_high)}${row.differs ? '; differs' : ''}`));
			line.append(element('td', saving(row.speedup), 'number'), made, recorded);
			return line;
		}));
		table.append(top, body);
		return table;
	}

	layOut() {
		resize(this.canvas, CURVE_HEIGHT);
		this.draw();
	}

	xOf(percentFaster) {
		return CURVE_LEFT + percentFaster / 100 * (this.canvas.clientWidth - CURVE_LEFT - 8);
	}

	yOf(saves) {
		const [low, high] = this.range;
		const part = (Math.max(low, Math.min(high, saves)) - low) / (high - low);

		return CURVE_HEIGHT - CURVE_BOTTOM - part * (CURVE_HEIGHT - CURVE_BOTTOM - CURVE_TOP);
	}

	draw() {
		prepare(this.context, this.canvas);
		this.drawScale();
		this.drawBand();
		this.drawLine('recorded', this.page.colors.soft, [4, 3]);
		this.drawLine('saves', this.page.colors.accent, []);
	}

	drawScale() {
		const { context: c, page: { colors, smallFont } } = this;
		const [low, high] = this.range;

		c.font = smallFont;
		c.textBaseline = 'middle';
		for (const saves of new Set([low, 0, high])) {
			c.fillStyle = colors.line;
			c.fillRect(CURVE_LEFT, this.yOf(saves), this.canvas.clientWidth - CURVE_LEFT, 1);
			c.fillStyle = colors.soft;
			c.fillText(`${saves.toFixed(0)} %`, 2, this.yOf(saves));
		}
		for (const faster of [0, 25, 50, 75, 100]) {
			c.fillStyle = colors.line;
			c.fillRect(this.xOf(faster), CURVE_HEIGHT - CURVE_BOTTOM, 1, 4);
			c.fillStyle = colors.soft;
			c.fillText(`${faster}`, Math.min(this.xOf(faster), this.canvas.clientWidth - 20), CURVE_HEIGHT - 8);
		}
	}

	/* From 0, where nothing is saved; of one point a bar. */
	drawBand() {
		const { context: c, page: { colors } } = this;
		const rows = this.rows.filter((row) => isNumber(row.saves_low) && isNumber(row.saves_high));

		if (!rows.length)
			return;
		c.fillStyle = colors.accentSoft;
		c.beginPath();
		c.moveTo(this.xOf(0), this.yOf(0));
		for (const row of rows)
			c.lineTo(this.xOf(row.speedup), this.yOf(row.saves_high));
		for (const row of [...rows].reverse())
			c.lineTo(this.xOf(row.speedup), this.yOf(row.saves_low));
		c.closePath();
		c.fill();
	}

	drawLine(key, color, dashes) {
		const { context: c } = this;
		const rows = this.rows.filter((row) => isNumber(row[key]));

		if (!rows.length)
			return;
		c.strokeStyle = color;
		c.fillStyle = color;
		c.lineWidth = 1.5;
		c.setLineDash(dashes);
		c.beginPath();
		c.moveTo(this.xOf(0), this.yOf(0));
		for (const row of rows)
			c.lineTo(this.xOf(row.speedup), this.yOf(row[key]));
		c.stroke();
		c.setLineDash([]);
		for (const row of rows) {
			c.beginPath();
			c.arc(this.xOf(row.speedup), this.yOf(row[key]), 2.5, 0, 2 * Math.PI);
			c.fill();
		}
	}

	/* The amount that is nearest. */
	point(x) {
		const far = (row) => Math.abs(this.xOf(row.speedup) - x);
		const row = x === null ? undefined : this.rows.reduce((a, b) => far(b) < far(a) ? b : a);
		const made = row && isNumber(row.saves) ? `saves ${saving(row.saves)}, ${bandText(row.saves_low, row.saves_high)}` : '';
		const recorded = row && isNumber(row.recorded) ? `${made ? '; ' : ''}by the recorded run ${saving(row.recorded)}` : '';

		this.said.textContent = row ? `${saving(row.speedup)} faster: ${made}${recorded}` : this.describe();
	}
}
