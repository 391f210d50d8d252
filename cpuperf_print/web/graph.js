/*
 * The flame graph on its canvas: layout, drawing, mouse and keys. Only the visible part is drawn,
 * so that depth costs nothing.
 */
const ROW = 20;
const LEAST_PIXELS = 0.4;
const BELOW = 40; /* pixels: what is said of a frame */
const LEAST_HEIGHT = 140; /* pixels: of what is above it there may be more than a screen has */
const SEEN_PIXELS = 5; /* rows with only thinner frames get no space */
/* Of objects and of the kernel: hue, and what differs from the theme in lightness (points) and in richness
 * (factor). Any two are at least 13 apart by CIEDE2000, in light and in dark. */
const KERNEL_COLOR = { hue: 18, light: 0, rich: 1 };
const COLORS = [[216, 4, 1.15], [120, -9, 1.15], [318, -9, 1], [60, -9, 1.15], [192, -4, 1.15], [258, 0, 1.15],
	[348, 4, 1.15], [42, -9, 0.5], [276, 8, 0.5], [156, -9, 0.5]].map(([hue, light, rich]) => ({ hue, light, rich }));
const ROOT = 0xffffffff; /* of a frame */
const STATE_HUES = [130, 45, 215, 180, 320]; /* of STATES */

class GraphView {
	/* parts: the canvas, what scrolls it, and what has its whole height. */
	constructor(page, parts, mode) {
		this.page = page;
		this.model = page.model;
		Object.assign(this, parts);
		this.context = this.canvas.getContext('2d');
		this.mode = mode;
		this.thread = -1; /* in the order of time */
		this.side = 0;
		this.hasStates = true; /* as frames; else as colours */
		this.isFound = null; /* functions that match the search */
		this.widths = new Map();
		this.giveHues();
		this.rebuild();
		this.listen();
	}

	/* Objects get colours in the order of their weight; the kernel has its own. */
	giveHues() {
		const { functions } = this.model.data;
		const weights = new Map();

		this.objectColors = new Map();
		for (const row of this.model.functions()) {
			const f = functions[row.of];

			if (!f.isKernel)
				weights.set(f.object, (weights.get(f.object) || 0) + row.self[0] + row.self[1]);
		}
		[...weights].sort((a, b) => b[1] - a[1]).slice(0, COLORS.length)
			.forEach(([object], i) => this.objectColors.set(object, COLORS[i]));
	}

	/* Rows at least, and those of the root that are not drawn. */
	get least() {
		return 3;
	}

	get nrHidden() {
		return 0;
	}

	get isInverted() {
		return this.mode === 'callers';
	}

	get isUpward() {
		return this.mode === 'flame';
	}

	/* Call after the selection changed. Keeps the shown frames that still exist. */
	rebuild() {
		const zoom = this.zoomed ? this.zoomed.way : [];
		const focus = this.focused ? this.focused.way : [];

		this.graph = this.makeGraph();
		this.zoomed = this.graph.find(zoom);
		this.focused = this.graph.find(focus);
		this.hovered = null;
		this.window = windowOf(this.zoomed);
		this.layOut();
	}

	makeGraph() {
		return this.mode === 'order' ? new OrderGraph(this.model, this.thread, this.side, this.hasStates)
			: new Graph(this.model, this.isInverted, this.side, this.hasStates);
	}

	setMode(mode) {
		this.mode = mode;
		this.zoomed = this.focused = null;
		this.rebuild();
		this.showRoot();
		this.page.zoomChanged();
	}

	setStates(hasStates) {
		this.hasStates = hasStates;
		this.setMode(this.mode);
	}

	/* Lists the frames wide enough to be visible in the window, row by row. */
	layOut() {
		const [start, end] = this.window;
		const width = this.canvas.clientWidth || 1;
		const scale = width / (end - start || 1);
		const waiting = [this.graph.root];

		this.rows = [];
		while (waiting.length) {
			const frame = waiting.pop();
			const left = Math.max(0, (frame.start - start) * scale);
			const right = Math.min(width, (frame.start + frame.width - start) * scale);

			if (right - left < LEAST_PIXELS)
				continue;
			(this.rows[frame.depth] = this.rows[frame.depth] || [])
				.push({ frame, left, width: right - left });
			waiting.push(...this.graph.children(frame));
		}
		this.rows.forEach((row) => row.sort((a, b) => a.left - b.left));
		this.fit();
		this.draw();
	}

	fit() {
		const height = Math.max(this.rows.length - this.nrHidden, this.least) * ROW;
		const seen = this.rows.findLastIndex((row) => row.some((place) => place.width > SEEN_PIXELS));
		/* with the root in sight, if there is room */
		const top = this.scroll.getBoundingClientRect().top + scrollY;
		const most = this.most || Math.max(LEAST_HEIGHT, Math.min(640, Math.round(innerHeight * 0.62), innerHeight - top - BELOW));
		const shown = Math.min(height, most, Math.max(2 * this.least, seen + 2) * ROW);
		const below = this.scroll.scrollHeight - this.scroll.scrollTop - this.scroll.clientHeight;

		this.content.style.height = `${height}px`;
		this.scroll.style.height = `${shown}px`;
		this.height = height;
		this.shown = shown;
		if (this.isUpward) /* keeps the visible part in view */
			this.scroll.scrollTop = height - shown - Math.max(0, below);
		resize(this.canvas, shown);
	}

	showRoot() {
		this.scroll.scrollTop = this.isUpward ? this.height : 0;
		this.draw();
	}

	/* The y coordinate on the canvas. */
	topOf(depth) {
		const y = this.isUpward ? this.height - (depth + 1) * ROW : (depth - this.nrHidden) * ROW;

		return y - this.scroll.scrollTop;
	}

	draw() {
		const { context: c, canvas } = this;

		if (this.isWaiting)
			return;
		this.isWaiting = true;
		requestAnimationFrame(() => {
			this.isWaiting = false;
			this.colors = this.page.colors;
			prepare(c, canvas);
			c.font = this.page.font;
			c.textBaseline = 'middle';
			this.rows.forEach((row, depth) => this.drawRow(row, depth));
			this.drawOutline(this.hovered, 1);
			if (document.activeElement === canvas)
				this.drawOutline(this.focused, 2.5);
		});
	}

	drawRow(row, depth) {
		const y = this.topOf(depth);

		if (y > -ROW && y < this.shown)
			row.forEach((place) => this.drawFrame(place, y));
	}

	drawFrame(place, y) {
		const { context: c } = this;
		const { frame, left, width } = place;
		const isAncestor = frame.depth < this.zoomed.depth;

		c.globalAlpha = this.isFound && !this.isLit(frame) ? 0.3 : isAncestor ? 0.55 : 1;
		this.fill(frame, left, y + 0.5, Math.max(width - (width > 3 ? 1 : 0), 0.5));
		c.globalAlpha = isAncestor ? 0.6 : 1;
		if (width > 26) {
			c.fillStyle = this.isLit(frame) ? '#ffffff' : this.colors.frameText;
			c.fillText(this.fitted(this.label(frame), width - 9), left + 5, y + ROW / 2 + 0.5);
		}
		c.globalAlpha = 1;
	}

	/* Where states are colours: each its share of the frame. */
	fill(frame, left, top, width) {
		const { context: c } = this;
		const parts = this.partsOf(frame);
		let at = left;

		for (const [color, share] of parts) {
			c.fillStyle = color;
			c.fillRect(at, top, width * share, ROW - 1);
			at += width * share;
		}
	}

	/* Colours, and their shares of the frame. */
	partsOf(frame) {
		const hasParts = !this.hasStates && frame.parent && this.model.nrSides === 1 && !this.isLit(frame);
		const states = hasParts ? frame.states || this.graph.statesOf(frame) : [];
		const all = frame.weight[this.side];

		return states.length ? states.map(([of, weight]) => [this.stateColor(of), weight / all])
			: [[this.colorOf(frame), 1]];
	}

	/* Of the function that is a state. */
	stateColor(of) {
		return this.page.colors.of({ hue: STATE_HUES[STATES.indexOf(this.model.data.functions[of].name)] }, 0);
	}

	drawOutline(frame, thick) {
		const place = frame && this.placeOf(frame);

		if (!place)
			return;
		this.context.lineWidth = thick;
		this.context.strokeStyle = this.colors.text;
		this.context.strokeRect(place.left + thick / 2, this.topOf(frame.depth) + thick / 2,
			Math.max(place.width - thick - 1, 1), ROW - thick);
	}

	isLit(frame) {
		return this.isFound !== null && frame.of !== ROOT && this.isFound[frame.of] === 1;
	}

	colorOf(frame) {
		const { colors } = this;

		if (this.isLit(frame))
			return colors.lit;
		if (frame.of === ROOT || this.model.data.functions[frame.of].isProcess)
			return colors.frameRest;
		if (this.model.nrSides > 1)
			return colors.ofChange(this.model.change(frame.weight, frame.samples));

		const f = this.model.data.functions[frame.of];

		if (this.model.data.stateFunctions.has(frame.of))
			return this.stateColor(frame.of);
		return colors.of(f.isKernel ? KERNEL_COLOR : this.objectColors.get(f.object), frame.of);
	}

	/* Marks significant changes, by the test of cpuperf_print over the whole session. */
	label(frame) {
		if (frame.timed && frame.of === ROOT)
			return `${this.graph.timesOf(frame).map(instant).join(' to ')}: ${this.model.amount(frame.weight[this.side])}`;
		if (frame.of === ROOT)
			return `all: ${percent(1)}, ${this.model.amount(frame.weight[this.side])}`;

		const mark = this.page.certain(frame.of);

		return (mark > 0 ? '▲ ' : mark < 0 ? '▼ ' : '') + this.model.data.functions[frame.of].name;
	}

	measure(text) {
		let width = this.widths.get(text);

		if (width === undefined) {
			width = this.context.measureText(text).width;
			this.widths.set(text, width);
		}
		return width;
	}

	fitted(text, width) {
		if (text.length * 9 < width || this.measure(text) <= width)
			return text;

		let nr = Math.ceil(width * text.length / this.measure(text));

		while (nr >= 3 && this.measure(`${text.slice(0, nr)}…`) > width)
			nr--;
		return nr < 3 ? '' : `${text.slice(0, nr)}…`;
	}

	placeOf(frame) {
		return (this.rows[frame.depth] || []).find((place) => place.frame === frame);
	}

	frameAt(x, y) {
		const inside = y + this.scroll.scrollTop;
		const depth = Math.floor((this.isUpward ? this.height - inside - 0.01 : inside) / ROW) + this.nrHidden;
		const place = (this.rows[depth] || []).find((p) => x >= p.left && x < p.left + p.width);

		return place ? place.frame : null;
	}

	zoom(frame) {
		this.zoomed = frame;
		this.focused = frame;
		this.moveTo(windowOf(frame));
		this.zoomChanged();
	}

	/* Animates for a fifth of a second, so that the eye can follow. */
	moveTo(window) {
		const from = this.window;
		const began = performance.now();
		const span = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : 180;
		const step = (now) => {
			const part = span ? Math.min(1, Math.max(0, (now - began) / span)) : 1;
			const eased = 1 - (1 - part) ** 3;

			if (this.moving !== began)
				return;
			this.window = from.map((x, i) => x + (window[i] - x) * eased);
			if (part >= 1)
				this.window = window;
			else
				requestAnimationFrame(step);
			this.layOut();
			if (part >= 1)
				this.reveal(this.focused);
		};

		this.moving = began;
		step(span ? began : began + 1);
	}

	zoomChanged() {
		this.page.zoomChanged();
	}

	zoomOut() {
		if (this.zoomed.parent)
			this.zoom(this.zoomed.parent);
	}

	focus(frame) {
		this.focused = frame;
		if (!this.placeOf(frame) || frame.depth < this.zoomed.depth)
			this.zoom(frame);
		this.reveal(frame);
		this.page.say(frame, this.graph);
		this.draw();
	}

	reveal(frame) {
		const y = this.topOf(frame.depth);

		if (y < 0)
			this.scroll.scrollTop += y;
		else if (y + ROW > this.shown)
			this.scroll.scrollTop += y + ROW - this.shown;
	}

	/* By key: the widest visible child, the caller, or the neighbour in the row. */
	neighbour(key) {
		const isDeeper = key === (this.isUpward ? 'ArrowUp' : 'ArrowDown');
		const row = this.rows[this.focused.depth] || [];
		const at = row.findIndex((place) => place.frame === this.focused);

		if (key === 'Home')
			return this.graph.root;
		if (key === 'ArrowLeft')
			return at > 0 ? row[at - 1].frame : null;
		if (key === 'ArrowRight')
			return at >= 0 && at + 1 < row.length ? row[at + 1].frame : null;
		if (!isDeeper)
			return this.focused.parent;
		return this.graph.children(this.focused).reduce((best, child) =>
			child.width > (best ? best.width : 0) && this.placeOf(child) ? child : best, null);
	}

	key(event) {
		const keys = ['ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Home'];

		if (event.altKey || event.ctrlKey || event.metaKey)
			return;
		if (keys.includes(event.key)) {
			const next = this.neighbour(event.key);

			if (next)
				this.focus(next);
		} else if (event.key === 'Enter' || event.key === ' ') {
			this.zoom(this.focused);
		} else if (event.key === 'c' && this.focused.of !== ROOT && !this.model.data.functions[this.focused.of].isProcess) {
			this.page.showSandwich(this.focused.of);
		} else if (event.key === 'Escape') {
			this.zoomOut();
		} else {
			return;
		}
		event.preventDefault();
	}

	listen() {
		const { canvas } = this;

		canvas.addEventListener('mousemove', (event) => {
			this.hover(this.frameAt(event.offsetX, event.offsetY), event);
		});
		canvas.addEventListener('mouseleave', () => this.hover(null, null));
		canvas.addEventListener('click', (event) => {
			const frame = this.frameAt(event.offsetX, event.offsetY);

			if (frame)
				this.zoom(frame);
		});
		canvas.addEventListener('keydown', (event) => this.key(event));
		canvas.addEventListener('focus', () => { this.page.say(this.focused, this.graph); this.draw(); });
		canvas.addEventListener('blur', () => this.draw());
		this.scroll.addEventListener('scroll', () => this.draw());
	}

	hover(frame, event) {
		this.page.tip(frame, event, this.graph);
		if (frame === this.hovered)
			return;
		this.hovered = frame;
		this.draw();
	}
}

function windowOf(frame) {
	return [frame.start, frame.start + frame.width];
}

/* Sets the canvas to device pixels. */
function resize(canvas, height) {
	const ratio = window.devicePixelRatio || 1;

	canvas.style.height = `${height}px`; /* first: a scroll bar may appear or vanish with it */

	const width = Math.max(1, Math.round(canvas.clientWidth * ratio));

	if (canvas.width !== width)
		canvas.width = width;
	if (canvas.height !== Math.round(height * ratio))
		canvas.height = Math.round(height * ratio);
}

function prepare(context, canvas) {
	const ratio = window.devicePixelRatio || 1;

	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.clearRect(0, 0, canvas.width, canvas.height);
}
