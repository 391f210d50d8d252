/*
 * The time axis: samples, and below them counts and misc, each in its own row. Dragging selects
 * whole slices.
 */
const ROW_HEIGHT = 44;
const SAMPLES_HEIGHT = 58;
const LANE_HEIGHT = 34;
const SCALE_HEIGHT = 22;
const SHOWN_AT_FIRST = 5;
const THINGS_AT_FIRST = 4; /* of an event, in a session that only counts */
const MAX_SHOWN = 40; /* there, in all */
const FEW_CPUS = 8; /* more have no rows, but strips */
const TRACKS_AT_FIRST = 3;
const LANES_AT_FIRST = { host: 16, thread: 3 };
const NEAR = 6;

class TimeView {
	constructor(page) {
		this.page = page;
		this.model = page.model;
		this.data = page.model.data;
		this.canvas = byId('axis');
		this.context = this.canvas.getContext('2d');
		this.series = rowsOf(this.data.series).filter((s) => !isOnce(this.data, s));
		this.isShown = this.series.map(() => false);
		this.tracks = this.data.tracks.map((t, i) => new RegionTrack(page, t, i < TRACKS_AT_FIRST));
		this.lanes = this.data.lanes.names.map((name, lane) => (
			{ name, lane, isShown: lane < LANES_AT_FIRST[this.data.lanes.what] }));
		this.part = null; /* the samples of the current frame: all, and by lane */
		this.cursor = null;
		this.chooseFirst();
		this.makeChooser();
		this.makeRows();
		this.listen();
		this.layOut();
	}

	get lengthNs() {
		return this.data.nr_slices * this.data.slice_ns;
	}

	get startNs() {
		return this.data.start_ns;
	}

	/* Rows of the whole machine; where nothing is sampled those of its things too, which come after
	 * it, the largest first, but for those that never had anything. */
	chooseFirst() {
		const { hasSamples } = this.page;
		const isWanted = (s, nr) => s.kind === 'machine' ||
			(!hasSamples && s.kind === 'thing' && nr < THINGS_AT_FIRST && (s.least || s.most));
		const things = new Map();
		let nr = 0;

		this.series.forEach((s, i) => {
			const nrThings = things.get(s.of) || 0;

			if (nr >= (hasSamples ? SHOWN_AT_FIRST : MAX_SHOWN) || !isWanted(s, nrThings))
				return;
			this.isShown[i] = true;
			nr++;
			if (s.kind === 'thing')
				things.set(s.of, nrThings + 1);
		});
	}

	makeChooser() {
		const chooser = byId('chooser');

		const add = (text, isShown, show) => {
			const label = element('label');
			const box = element('input');
			const item = element('li');

			box.type = 'checkbox';
			box.checked = isShown;
			box.addEventListener('change', () => {
				show(box.checked);
				this.makeRows();
				this.layOut();
			});
			label.title = text;
			label.append(box, text);
			item.append(label);
			byId('choices').append(item);
		};

		chooser.hidden = this.series.length + this.tracks.length + this.lanes.length === 0;
		this.lanes.forEach((l) => add(l.name, l.isShown, (is) => { l.isShown = is; }));
		this.tracks.forEach((t) => add(t.name, t.isShown, (is) => { t.isShown = is; }));
		this.series.forEach((s, i) => add(s.label, this.isShown[i], (is) => { this.isShown[i] = is; }));
	}

	makeRows() {
		const shown = this.series.filter((s, i) => this.isShown[i]);
		const tracks = this.tracks.filter((t) => t.isShown);
		const lanes = this.lanes.filter((l) => l.isShown);

		byId('chooser').querySelector('summary').textContent = `Shown: ${[
			[lanes, this.lanes, this.data.lanes.what, ''],
			[shown, this.series, 'row', ' of counts and misc'],
			[tracks, this.tracks, 'thread', ' with regions'],
		].filter(([, all]) => all.length).map(([some, all, name, of]) =>
			`${some.length} of ${plural(all.length, name)}${of}`).join(', ')}`;
		this.rows = [...(byId('span').hidden ? []
			: [{ name: lanes.length ? 'all samples' : 'samples', height: SAMPLES_HEIGHT },
				...lanes.map(({ name, lane }) => ({ name, height: LANE_HEIGHT, lane }))]),
			...tracks.map((track) => ({ name: track.name, height: track.height, track })),
			...shown.map((s) => ({ name: s.label, height: ROW_HEIGHT, series: s }))];
		byId('rows').replaceChildren(...this.rows.map((row) => {
			const item = element('li');

			item.style.height = `${row.height}px`;
			item.classList.toggle('low', row.height < ROW_HEIGHT); /* no room for a name of two lines */
			row.value = element('span');
			item.append(element('b', row.name), row.value);
			item.title = row.series && row.series.note ? row.series.note : row.name;
			return item;
		}));
		this.showValues();
	}

	layOut() {
		const height = this.rows.reduce((sum, row) => sum + row.height, 0) + SCALE_HEIGHT;

		resize(this.canvas, height);
		this.height = height;
		this.draw();
	}

	xOf(slice) {
		return slice / this.data.nr_slices * this.canvas.clientWidth;
	}

	/* The nearest border between slices. */
	borderAt(x) {
		const border = Math.round(x / (this.canvas.clientWidth || 1) * this.data.nr_slices);

		return Math.max(0, Math.min(this.data.nr_slices, border));
	}

	sliceAt(x) {
		const slice = Math.floor(x / (this.canvas.clientWidth || 1) * this.data.nr_slices);

		return Math.max(0, Math.min(this.data.nr_slices - 1, slice));
	}

	draw() {
		if (this.isWaiting)
			return;
		this.isWaiting = true;
		requestAnimationFrame(() => {
			let y = 0;
			const highest = this.highest;

			this.isWaiting = false;
			this.colors = this.page.colors;
			prepare(this.context, this.canvas);
			for (const row of this.rows) {
				if (row.track)
					row.track.draw(this, y);
				else if (row.series)
					this.drawSeries(row.series, y, row.height);
				else if (row.lane !== undefined)
					this.drawLane(row.lane, highest, y, row.height);
				else
					this.drawSamples(y, row.height);
				this.drawLine(0, y + row.height - 0.5, this.canvas.clientWidth, this.colors.line);
				y += row.height;
			}
			this.drawScale(y);
			this.drawIterations(y);
			this.drawSelection();
			this.drawCursor();
		});
	}

	/* Of all lanes the most; of threads with states all that there can be. */
	get highest() {
		const most = this.model.laneSlices.reduce((max, of) => highOf(of, max), 0) || 1;
		const isTime = this.model.laneStates.length && this.data.lanes.what === 'thread' && this.model.unit === 'ns';

		return isTime ? this.data.slice_ns / (this.data.events[this.model.event].scale || 1) : most;
	}

	drawLine(x, y, width, color) {
		this.context.fillStyle = color;
		this.context.fillRect(x, y, width, 1);
	}

	drawSamples(y, height) {
		const all = this.model.slices[0];
		const high = highOf(all, 0) || 1;

		this.drawBars(all, high, y, height, this.colors.bars);
		if (this.model.nrSides > 1)
			this.drawSteps(this.model.slices[1], high, y, height);
		if (this.part)
			this.drawBars(this.part.all, high, y, height, this.colors.accent);
	}

	/* All by the same scale, so that they compare. */
	drawLane(lane, highest, y, height) {
		const states = this.model.laneStates[lane];

		if (states)
			this.drawStates(states, highest, y, height);
		else
			this.drawBars(this.model.laneSlices[lane], highest, y, height, this.colors.bars);
		if (this.part)
			this.drawBars(this.part.lanes[lane], highest, y, height, this.colors.accent);
	}

	/* below: what stands under each bar, or null. */
	drawBars(values, high, y, height, color, below = null) {
		const { context: c } = this;
		const room = height - 8;

		c.fillStyle = color;
		values.forEach((value, i) => {
			const size = Math.min(1, value / high) * room;
			const left = this.xOf(i), width = this.xOf(i + 1) - left;

			if (size > 0)
				c.fillRect(left, y + height - 1 - size - (below ? below[i] / high * room : 0), Math.max(width - (width > 4 ? 1 : 0), 0.6), size);
		});
	}

	/* One upon the other. */
	drawStates(states, high, y, height) {
		const below = new Float64Array(this.data.nr_slices);

		states.forEach((values, i) => {
			if (!values.some((x) => x > 0))
				return;
			this.drawBars(values, high, y, height, this.colors.of({ hue: STATE_HUES[i] }, 0), below);
			values.forEach((value, slice) => { below[slice] += value; });
		});
	}

	/* Draws the older side as an outline. */
	drawSteps(values, high, y, height) {
		const { context: c } = this;

		c.beginPath();
		values.forEach((value, i) => {
			const top = y + height - 1 - Math.min(1, value / high) * (height - 8);

			c.lineTo(this.xOf(i), top);
			c.lineTo(this.xOf(i + 1), top);
		});
		c.strokeStyle = this.colors.soft;
		c.lineWidth = 1;
		c.stroke();
	}

	xOfTime(ns) {
		return (ns - this.startNs) / this.lengthNs * this.canvas.clientWidth;
	}

	drawSeries(series, y, height) {
		const { context: c } = this;
		const { values } = series;
		const step = this.data.series_span_ns / (values.length || 1);
		const [low, high] = axisOf(series);
		const top = (v) => y + height - 5 - (Math.min(v, high) - low) / (high - low || 1) * (height - 10);

		c.strokeStyle = this.colors.lines;
		c.fillStyle = this.colors.lines;
		c.lineWidth = 1.4;
		c.beginPath();
		values.forEach((value, i) => {
			const x = this.xOfTime(this.data.series_start_ns + i * step);
			const end = this.xOfTime(this.data.series_start_ns + (i + 1) * step);

			if (value === null)
				return;
			if (i === 0 || values[i - 1] === null)
				c.moveTo(x, top(value));
			c.lineTo(x, top(value));
			c.lineTo(end, top(value));
		});
		c.stroke();
		c.fillStyle = this.colors.warn;
		values.forEach((value, i) => {
			const x = this.xOfTime(this.data.series_start_ns + i * step);
			const end = this.xOfTime(this.data.series_start_ns + (i + 1) * step);

			if (isOver(series, value))
				c.fillRect(x, y + 1, Math.max(end - x, 1), 3);
		});
	}

	drawScale(y) {
		const { context: c } = this;
		const width = this.canvas.clientWidth;
		const step = niceStep(this.lengthNs / Math.max(2, Math.floor(width / 90)));
		const first = Math.ceil(this.startNs / step) * step;

		c.font = this.page.smallFont;
		c.textBaseline = 'middle';
		for (let t = first; t <= this.startNs + this.lengthNs; t += step) {
			const x = this.xOfTime(t);
			const text = t ? time(t) : '0';

			this.drawLine(x, y, 1, this.colors.soft);
			c.fillStyle = this.colors.line;
			c.fillRect(x, y, 1, 5);
			c.fillStyle = this.colors.soft;
			c.fillText(text, Math.min(x + 3, width - c.measureText(text).width), y + 12);
		}
	}

	/* Marks the beginnings of iterations, if there are several. */
	drawIterations(height) {
		const { context: c } = this;
		const { iterations } = this.data;

		if (iterations.length < 2)
			return;
		c.strokeStyle = this.colors.soft;
		c.lineWidth = 1;
		c.setLineDash([2, 3]);
		c.globalAlpha = 0.55;
		for (const ns of iterations) {
			const x = Math.round(this.xOfTime(ns)) + 0.5;

			c.beginPath();
			c.moveTo(x, 0);
			c.lineTo(x, height);
			c.stroke();
		}
		c.globalAlpha = 1;
		c.setLineDash([]);
	}

	drawSelection() {
		const { context: c, model } = this;
		const left = this.xOf(model.first), right = this.xOf(model.end);
		const height = this.height - SCALE_HEIGHT;

		if (model.isAllTime)
			return;
		c.globalAlpha = 0.62;
		c.fillStyle = this.colors.panel;
		c.fillRect(0, 0, left, height);
		c.fillRect(right, 0, this.canvas.clientWidth - right, height);
		c.globalAlpha = 1;
		c.fillStyle = this.colors.accentSoft;
		c.fillRect(left, 0, right - left, height);
		c.fillStyle = this.colors.accent;
		c.fillRect(left - 1, 0, 2, height);
		c.fillRect(right - 1, 0, 2, height);
	}

	drawCursor() {
		if (this.cursor === null)
			return;
		this.context.fillStyle = this.colors.soft;
		this.context.fillRect(Math.round(this.cursor), 0, 1, this.height - SCALE_HEIGHT);
	}

	/* Writes beside each row its number at the cursor, else its range. */
	showValues() {
		const slice = this.cursor === null ? -1 : this.sliceAt(this.cursor);
		const ns = this.cursor === null ? null
			: this.startNs + this.cursor / (this.canvas.clientWidth || 1) * this.lengthNs;
		const nearNs = 3 / (this.canvas.clientWidth || 1) * this.lengthNs; /* pixels */

		for (const row of this.rows)
			row.value.textContent = row.track ? row.track.said(ns, nearNs) : row.series ? this.seriesValue(row.series, slice)
				: row.lane === undefined ? this.samplesValue(slice) : this.laneValue(row.lane, slice);
	}

	samplesValue(slice) {
		const { model, data } = this;

		if (slice < 0)
			return `${time(data.slice_ns)} a bar`;
		return `${model.amount(model.slices[0][slice])} at ${
			time(this.startNs + slice * data.slice_ns)}`;
	}

	/* At the cursor, else of the selected time. */
	laneValue(lane, slice) {
		const { model } = this;
		const slices = model.laneSlices[lane];

		if (slice >= 0)
			return model.amount(slices[slice]);
		return model.amount(slices.slice(model.first, model.end).reduce((sum, x) => sum + x, 0));
	}

	seriesValue(series, slice) {
		const { data } = this;
		const [low, high] = axisOf(series);
		const ns = this.startNs + (slice + 0.5) * data.slice_ns - data.series_start_ns;
		const value = series.values[Math.floor(ns / data.series_span_ns * series.values.length)];
		const text = (x) => amount(x, series.unit) + series.per;

		if (slice >= 0)
			return value === null || value === undefined ? 'no number'
				: isOver(series, value) ? `${text(value)}: more than possible` : text(value);
		if (low > high)
			return 'no number';
		const of = high === series.limit ? ` of ${text(series.limit)}` : '';

		return text(series.least) === text(series.most) ? text(series.least) + of
			: `${text(series.least)} … ${text(series.most)}${of}`;
	}

	/* Selects the slices between a and b, in either order. */
	select(a, b) {
		const first = Math.min(a, b), end = Math.max(a, b);

		if (first === end)
			this.page.selectTime(0, this.data.nr_slices);
		else
			this.page.selectTime(first, end);
	}

	/* Whether the pointer is at a border of the selection, inside, or elsewhere. */
	gripAt(x) {
		const left = this.xOf(this.model.first), right = this.xOf(this.model.end);

		if (this.model.isAllTime)
			return 'new';
		if (Math.abs(x - left) < NEAR)
			return 'first';
		if (Math.abs(x - right) < NEAR)
			return 'end';
		return x > left && x < right ? 'move' : 'new';
	}

	down(event) {
		if (event.button || !this.page.hasSamples)
			return;
		this.canvas.setPointerCapture(event.pointerId);
		this.drag = { grip: this.gripAt(event.offsetX), x: event.offsetX, hasMoved: false,
			first: this.model.first, end: this.model.end };
	}

	move(event) {
		const x = event.offsetX;

		this.cursor = x;
		this.showValues();
		this.canvas.style.cursor = { new: 'crosshair', move: 'grab', first: 'ew-resize',
			end: 'ew-resize' }[this.drag ? this.drag.grip : this.gripAt(x)];
		if (!this.page.hasSamples)
			this.canvas.style.cursor = 'default';
		if (this.drag && (this.drag.hasMoved || Math.abs(x - this.drag.x) > 3))
			this.dragTo(x);
		this.draw();
	}

	dragTo(x) {
		const { drag } = this;
		const border = this.borderAt(x);

		drag.hasMoved = true;
		if (drag.grip === 'move')
			this.shift(drag.first, drag.end, border - this.borderAt(drag.x));
		else if (drag.grip === 'new')
			this.select(this.borderAt(drag.x), border);
		else
			this.select(border, drag.grip === 'first' ? drag.end : drag.first);
	}

	shift(first, end, by) {
		const kept = Math.max(-first, Math.min(this.data.nr_slices - end, by));

		this.page.selectTime(first + kept, end + kept);
	}

	up() {
		const { drag } = this;

		this.drag = null;
		if (drag && drag.hasMoved)
			this.page.updateText();
		else if (drag && drag.grip === 'new')
			this.page.selectTime(0, this.data.nr_slices);
	}

	key(event) {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		const { model, data } = this;

		if (!step && event.key !== 'Escape')
			return;
		if (!this.page.hasSamples)
			this.moveCursor(step);
		else if (event.key === 'Escape')
			this.page.selectTime(0, data.nr_slices);
		else if (model.isAllTime)
			this.select(step > 0 ? 0 : data.nr_slices,
				step > 0 ? Math.ceil(data.nr_slices / 10) : Math.floor(data.nr_slices * 0.9));
		else if (event.shiftKey)
			this.page.selectTime(model.first,
				Math.max(model.first + 1, Math.min(data.nr_slices, model.end + step)));
		else
			this.shift(model.first, model.end, step);
		event.preventDefault();
	}

	/* Where there is nothing to select: by one slice, to read the numbers; 0: away. */
	moveCursor(step) {
		const slice = this.cursor === null ? -1 : this.sliceAt(this.cursor);
		const next = Math.max(0, Math.min(this.data.nr_slices - 1, slice + (step || 0)));

		this.cursor = step ? this.xOf(next + 0.5) : null;
		this.showValues();
		this.draw();
	}

	listen() {
		const { canvas } = this;

		canvas.addEventListener('pointerdown', (event) => this.down(event));
		canvas.addEventListener('pointermove', (event) => this.move(event));
		canvas.addEventListener('pointerup', () => this.up());
		canvas.addEventListener('pointercancel', () => this.up());
		canvas.addEventListener('pointerleave', () => {
			this.cursor = null;
			this.showValues();
			this.draw();
		});
		canvas.addEventListener('keydown', (event) => this.key(event));
	}
}

/* What may be a row of the axis: CPUs if they are few, and no processes, which have a table. */
function rowsOf(series) {
	const cpus = new Set(series.filter((s) => s.kind === 'cpu').map((s) => s.cpu));

	return series.filter((s) => s.kind !== 'process' && (s.kind !== 'cpu' || cpus.size <= FEW_CPUS));
}

function highOf(values, least) {
	return values.reduce((max, x) => Math.max(max, x), least);
}

/* Begins at 0 unless a value is negative, so that heights are proportional. */
function boundsOf(values) {
	const some = values.filter((v) => v !== null);

	return some.length ? [Math.min(0, ...some), Math.max(0, ...some)] : [1, 0];
}

/* No higher than what is possible, which is the top if a value is near it. */
function axisOf(series) {
	if (!series.axis) {
		const [low, high] = boundsOf(series.values);

		series.axis = [low, high >= NEAR_LIMIT * series.limit ? series.limit : high];
	}
	return series.axis;
}

/* What exceeds the limit by rounding is not marked. */
function isOver(series, value) {
	return value !== null && value > OVER_LIMIT * series.limit;
}

function niceStep(ns) {
	const ten = 10 ** Math.floor(Math.log10(ns));

	return ten * [1, 2, 5, 10].find((n) => n * ten >= ns);
}
