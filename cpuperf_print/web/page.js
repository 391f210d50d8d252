/*
 * The page: state shared by its parts, and updates after a selection.
 */
const MAX_TASKS = 400;
const LEGEND_NAMES = 8;
const MOST_OF_ONE = 0.97; /* a process with more is nearly all */
const FEW_PROCESSES = 8;

/* Colours from the style sheet. */
class Colors {
	constructor() {
		const style = getComputedStyle(document.documentElement);
		const get = (name) => style.getPropertyValue(name).trim();

		this.text = get('--text');
		this.soft = get('--soft');
		this.line = get('--line');
		this.panel = get('--panel');
		this.accent = get('--accent');
		this.accentSoft = get('--accent-soft');
		this.lit = get('--lit');
		this.bars = get('--bars');
		this.lines = get('--lines');
		this.warn = get('--warn');
		this.frameText = get('--frame-text');
		this.frameRest = get('--frame-rest');
		this.light = parseFloat(get('--frame-light'));
		this.rich = parseFloat(get('--frame-rich'));
		this.cold = rgbOf(get('--cold'));
		this.hot = rgbOf(get('--hot'));
		this.same = rgbOf(get('--same'));
		this.more = rgbOf(get('--more'));
		this.less = rgbOf(get('--less'));
	}

	/* Functions of one object differ a little in colour; a function's colour is constant. */
	of(color, number) {
		const shade = (Math.imul(number + 1, 0x9e3779b1) >>> 24) / 255 - 0.5;

		if (!color)
			return this.frameRest;

		const { hue, light = 0, rich = 1 } = color;

		return `hsl(${hue + 10 * shade} ${this.rich * rich}% ${this.light + light + 7 * shade}%)`;
	}

	ofChange(change) {
		return mixed(this.same, change > 0 ? this.more : this.less, Math.abs(change));
	}

	/* part: of the scale, 0 to 1. */
	ofHeat(part) {
		return mixed(this.cold, this.hot, part);
	}
}

const darkness = matchMedia('(prefers-color-scheme: dark)');

function followSystem() {
	document.documentElement.dataset.theme = darkness.matches ? 'dark' : 'light';
}

function mixed(from, to, part) {
	return `rgb(${from.map((x, i) => Math.round(x + (to[i] - x) * part)).join(' ')})`;
}

function rgbOf(hex) {
	return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

class Page {
	constructor(data, source) {
		this.data = data;
		this.source = source;
		this.query = parseQuery(searched());
		this.model = new Model(data);
		this.colors = new Colors();
		this.font = `12px ${getComputedStyle(document.body).fontFamily}`;
		this.smallFont = `11px ${getComputedStyle(document.body).fontFamily}`;
		this.found = null;
		this.mode = 'flame'; /* of the graph; or order, sandwich */
		this.certainties = certaintiesOf(data);
		this.showHeader();
		this.makeChoices();
		this.chooseProcesses();
		this.reports = new ReportView(this);
		this.graph = new GraphView(this, { canvas: byId('graph'), scroll: byId('scroll'), content: byId('content') }, 'flame');
		this.sandwich = new SandwichView(this);
		this.sandwich.begin();
		this.time = new TimeView(this);
		this.latency = new ChartSection('latency', 'charts', latencyCharts(this));
		this.experiments = new ChartSection('experiments', 'curves', experimentCharts(this));
		showCounts(data);
		this.heat = new HeatView(this);
		this.processes = new ProcessTable(this);
		this.table = new TableView(this);
		this.graph.showRoot();
		this.showLegend();
		this.showAnswer();
		this.showSpan();
		this.say(this.graph.focused);
		this.listen();
		this.readAddress();
	}

	showHeader() {
		const { data } = this;
		const list = (id, texts) => {
			byId(id).replaceChildren(...texts.map((text) => element('li', text)));
			byId(id).hidden = texts.length === 0;
		};

		document.title = `${data.title} – cpuperf`;
		byId('title').textContent = byId('title').title = data.title;
		byId('subtitle').textContent = data.subtitle;
		byId('tool').textContent = data.tool;
		this.showWarnings(this.source.isAsked ? this.source.facts.notes : []);
		list('notes', data.notes);
		byId('facts').replaceChildren(...data.facts.flatMap(([name, value]) =>
			[element('dt', name), element('dd', value)]));
	}

	/* What must be known of the numbers; more: of those that were asked for. */
	showWarnings(more) {
		const all = [...new Set([...this.data.warnings, ...more])];

		byId('warned').hidden = !all.length;
		byId('warned').querySelector('summary').textContent = plural(all.length, 'warning');
		byId('warnings').replaceChildren(...all.map((text) => element('li', text)));
	}

	async showNotes() {
		if (this.source.isAsked)
			this.showWarnings(await this.source.notes().catch(() => []));
	}

	fault(text) {
		byId('fault').textContent = text;
		byId('fault').hidden = !text;
	}

	makeChoices() {
		const { data, model } = this;

		/* what is only counted is a row over time */
		byId('event').replaceChildren(...data.events.map((event, i) => choice(i,
			`${event.label} – ${model.samplesText(event.samples[0], null, i)}`)).filter((o, i) => isSampled(data.events[i])));
		byId('event').value = model.event;
		this.firstEvent = model.event;
		byId('sides').hidden = model.nrSides < 2;
		byId('states').hidden = data.stateFunctions.size === 0;
		this.hasSamples = data.events.some(isSampled) &&
			data.functions.some((f) => f.name !== '[no address]'); /* a clock that only paces readings */
		for (const id of ['toolbar', 'stacks', 'table', 'drag', 'span', 'keys', 'axis-help'])
			byId(id).hidden = !this.hasSamples && (id !== 'toolbar' || !this.query.filters.length);
		byId('over-time').hidden = !this.hasSamples && data.series.every((line) => isOnce(data, line));
		document.body.classList.toggle('counts', !this.hasSamples);
		this.picker = new Picker(byId('search'), byId('completions'), {
			itemsOf: (text) => completionsOf(text, this.values), pick: (item) => this.pick(item) });
	}

	/* What the search line can name, by field: [value, what is said of it], the heaviest first. */
	get values() {
		const { data, model } = this;

		this.known = this.known || { ...valuesOf(data), ...this.source.isAsked ? { cpu: [], iteration: [], 'tree-of': [], zoom: [] } : {} };
		return { ...this.known, '': [...model.functions()].sort((a, b) => b.total[0] - a.total[0])
			.map(({ of, total }) => [data.functions[of].name, percent(model.share(total[0]))]) };
	}

	/* A completion: a filter, or the name of a function. */
	pick({ text }) {
		byId('search').value = text;
		if (text.endsWith(':'))
			this.picker.open();
		else
			this.picker.close();
		this.setQuery(text);
	}

	/* --- what is selected --- */

	/* With another word in place of one. */
	changeQuery(word, by) {
		this.setQuery(replaced(this.query.text, word, by));
	}

	/* Other words. */
	search(words) {
		this.setQuery([...this.query.filters.map((f) => f.text), this.query.spanText, words].filter((x) => x).join(' '));
	}

	get isUnfiltered() {
		return this.query.filters.length === 0 && this.model.isAllTime;
	}

	/* What a report is asked with. */
	arguments(report) {
		const { model } = this;
		const args = argumentsOf(this.query, model.isAllTime ? null : [this.timeOf(model.first), this.timeOf(model.end)]);

		Object.entries((this.source.facts.arguments || {})[report] || {}).forEach(([name, value]) => args.set(name, value));
		return args;
	}

	/* Slices; all of them without a span. */
	slicesOf(span) {
		const { start_ns, slice_ns, nr_slices } = this.data;
		const within = (slice) => Math.max(0, Math.min(nr_slices, slice));
		const first = span ? within(Math.floor((span[0] - start_ns) / slice_ns + 1e-9)) : 0;
		const end = span ? within(Math.ceil((span[1] - start_ns) / slice_ns - 1e-9)) : nr_slices;

		return end > first ? [first, end] : [0, nr_slices];
	}

	/* Selects what the search line says. */
	setQuery(text) {
		const { model } = this;
		const before = this.query;
		const filtersOf = (query) => query.filters.map((f) => f.text).join(' ');

		this.query = parseQuery(text);
		if (this.asksElse(this.query, before)) {
			this.askAnew();
			return;
		}
		if (byId('search').value.trim() !== text.trim())
			byId('search').value = text;
		this.found = this.matches(this.query.words);
		this.showChips();
		if (filtersOf(before) === filtersOf(this.query) && before.spanText === this.query.spanText) {
			this.showFound();
			this.writeAddress();
			this.reports.show(this.reports.shown);
			return;
		}
		this.select();
		[model.first, model.end] = this.slicesOf(this.query.span);
		this.graph.isFound = this.found;
		this.update();
		this.sayFound();
	}

	/* Whether the server must make other data than those of the filters of before. */
	asksElse(query, before = this.query) {
		return this.source.isAsked && String(argumentsOf(query, null, true)) !== String(argumentsOf(before, null, true));
	}

	/* The selected time becomes all that there is. */
	zoomTime() {
		const { filters, span, spanText, text } = this.query;
		const before = filters.find((f) => f.field === 'zoom');

		if (span)
			this.setQuery(replaced(replaced(text, spanText, ''), before ? before.text : '', `zoom:${spanText}`));
	}

	/* Threads and regions. */
	select() {
		const threads = threadsWanted(this.query, this.data), regions = regionsWanted(this.query, this.data);

		this.model.who = (t, number) => threads[number];
		this.model.within = (i) => regions[i];
	}

	/* The server makes other data: of these filters. */
	askAnew() {
		const args = new URLSearchParams(location.hash.slice(1));

		args.set('search', this.query.text);
		history.pushState(null, '', `#${args}`);
		location.reload();
	}

	showChips() {
		const chipOf = (text, fault) => {
			const item = element('li', text, fault ? 'wrong' : '');
			const button = element('button', '×');

			button.type = 'button';
			button.setAttribute('aria-label', `Remove ${text}`);
			button.addEventListener('click', () => this.changeQuery(text, ''));
			item.title = fault || 'Selected';
			item.append(button);
			return item;
		};
		const faultOf = ({ field, fault }) => fault || (FIELDS[field].isAsked && !this.source.isAsked
			? 'not in this file: cpuperf_print --serve has it' : '');

		byId('chips').replaceChildren(...this.query.filters.map((f) => chipOf(f.text, faultOf(f))),
			...this.query.span ? [chipOf(this.query.spanText, '')] : []);
		byId('chips').hidden = !byId('chips').children.length;
	}

	/* A filter that is being written is no filter yet. */
	typed(text) {
		const last = /\S*$/.exec(text)[0];

		if (!spanOf(last) && !(/^([a-z-]+):/.exec(last)?.[1] in FIELDS))
			this.setQuery(text);
	}

	/* --- processes --- */

	/* A frame for each process where there are several, unless nearly all is of one: by name if they are many. */
	chooseProcesses() {
		const processes = processesOf(this.data).filter((p) => p.samples > 0);
		const names = new Set(processes.map((p) => p.comm));
		const all = processes.reduce((sum, p) => sum + p.samples, 0);
		const helps = processes.length > 1 && processes[0].samples < MOST_OF_ONE * all;

		byId('grouping').parentElement.hidden = processes.length < 2;
		/* two sides have other processes, but those of one name compare */
		byId('grouping').value = !helps ? 'none' : processes.length <= FEW_PROCESSES && this.model.nrSides < 2 ? 'process'
			: names.size > 1 ? 'name' : 'none';
		this.usual = { frames: byId('grouping').value };
		this.setProcesses();
	}

	/* As chosen; what has too many nodes has no processes. */
	setProcesses() {
		const isByName = { none: null, name: true, process: false }[byId('grouping').value];

		if (!setProcesses(this.data, isByName)) {
			byId('grouping').value = 'none';
			setProcesses(this.data, null);
		}
		this.model.fit();
		this.model.add();
	}

	changeProcesses() {
		this.setProcesses();
		this.graph.zoomed = this.graph.focused = null;
		this.graph.giveHues();
		this.graph.rebuild();
		this.graph.showRoot();
		this.found = this.matches(this.query.words);
		this.showFound();
		this.sandwich.choose(this.sandwich.of);
		this.updateText();
		this.zoomChanged();
	}

	/* --- forms of the graph --- */

	setMode(mode) {
		const isSandwich = mode === 'sandwich', isOrder = mode === 'order';

		document.querySelector(`#modes input[value=${mode}]`).checked = true;
		this.mode = mode;
		byId('plain').hidden = isSandwich;
		document.querySelector('main').classList.toggle('is-wide', isSandwich);
		byId('sandwich').hidden = !isSandwich;
		byId('thread').parentElement.hidden = !isOrder;
		byId('order-help').hidden = !isOrder;
		byId('path').hidden = true;
		if (isOrder)
			this.makeThreads();
		if (isSandwich)
			this.sandwich.choose(this.sandwich.of);
		else
			this.graph.setMode(mode);
		this.showOrderHelp();
	}

	/* A report, or the samples. */
	setReport(name) {
		this.reports.show(name);
		this.writeAddress(true);
		if (!this.reports.shown)
			this.resize();
	}

	showSandwich(of) {
		this.reports.show('');
		this.sandwich.of = of;
		this.setMode('sandwich');
		this.writeAddress(true);
		byId('graph-title').scrollIntoView({ block: 'nearest' });
	}

	/* Threads with selected samples, the one with the most first. */
	makeThreads() {
		const { threads } = this.data;
		const samples = this.model.samplesOfThreads(this.graph.side);
		const before = byId('thread').value;
		const list = threads.map((t, i) => i).filter((i) => samples[i] > 0)
			.sort((a, b) => samples[b] - samples[a]).slice(0, MAX_TASKS);

		byId('thread').replaceChildren(...list.map((i) => choice(i, `${threadName(threads[i])}${
			this.data.hosts.length ? ` on ${this.data.hosts[threads[i].host]}` : ''} – ${this.model.samplesText(samples[i])}`)));
		if (list.includes(Number(before)) && before !== '')
			byId('thread').value = before;
		this.graph.thread = list.length ? Number(byId('thread').value) : -1;
	}

	showOrderHelp() {
		const isTime = this.model.unit === 'ns';

		byId('order-help').textContent = this.mode !== 'order' ? '' : `From left to right is time, in slices of ${
			time(this.data.slice_ns)}. The order within a slice is not known: what goes on from the slice before stands first, what goes on in the next one last. ${
			isTime ? 'A sample stands for the time before it, a wait for all of it; where nothing is drawn, nothing was sampled.'
				: 'Each slice with samples is filled, whatever their number.'}`;
	}

	/* --- the address: what is shown, so that it can be kept as a link --- */

	writeAddress(isNew = false) {
		if (this.isReading)
			return;

		const args = new URLSearchParams();
		const { data, model } = this;
		const f = this.mode === 'sandwich' && this.sandwich.of !== null ? data.functions[this.sandwich.of] : null;
		const put = (name, value, usual) => value !== usual && args.set(name, value);

		put('view', this.reports.shown || this.mode, 'flame');
		put('event', data.events[model.event]?.label, data.events[this.firstEvent]?.label);
		put('frames', byId('grouping').value, this.usual.frames);
		put('search', this.query.text, '');
		if (f) {
			args.set('function', f.name);
			args.set('object', data.objects[f.object]);
		}
		if (this.mode === 'order' && byId('thread').value !== '')
			args.set('thread', byId('thread').value);

		const address = `#${args}`;

		if (address !== (location.hash || '#'))
			history[isNew ? 'pushState' : 'replaceState'](null, '', address === '#' ? location.href.split('#')[0] : address);
	}

	/* Whatever is wrong in it is ignored. */
	readAddress() {
		const args = new URLSearchParams(location.hash.slice(1));
		const { data, model } = this;
		const get = (name, usual) => args.get(name) ?? usual;
		const event = data.events.findIndex((e) => e.label === args.get('event') && isSampled(e));
		const mode = get('view', 'flame');

		this.query = parseQuery(get('search', ''));
		byId('search').value = this.query.text;
		this.showChips();
		this.reports.show(mode);
		if (!this.hasSamples || (!location.hash && !this.hasAddress))
			return;
		this.hasAddress = this.isReading = true;
		model.event = event >= 0 ? event : this.firstEvent;
		byId('event').value = model.event;
		if (['none', 'name', 'process'].includes(get('frames', this.usual.frames)))
			byId('grouping').value = get('frames', this.usual.frames);
		this.setProcesses();
		this.readQuery();
		this.sandwich.of = this.functionOf(get('function', ''), get('object', ''));
		if (args.get('thread') !== null && mode === 'order') {
			this.mode = 'order';
			this.makeThreads();
			byId('thread').value = args.get('thread');
		}
		this.setMode(['flame', 'icicle', 'callers', 'order', 'sandwich'].includes(mode) ? mode : 'flame');
		this.showFound();
		this.isReading = false;
	}

	readQuery() {
		const { model } = this;

		this.found = this.graph.isFound = this.matches(this.query.words);
		this.select();
		[model.first, model.end] = this.slicesOf(this.query.span);
		this.update();
	}

	/* null: none. */
	functionOf(name, object) {
		const { functions, objects } = this.data;
		const is = (f) => f.name === name && !f.isProcess;
		const exact = functions.findIndex((f) => is(f) && objects[f.object] === object);
		const any = exact >= 0 ? exact : functions.findIndex(is);

		return any >= 0 ? any : null;
	}

	listen() {
		const { graph } = this;

		byId('grouping').addEventListener('change', () => {
			this.changeProcesses();
			this.writeAddress();
		});
		byId('thread').addEventListener('change', () => {
			graph.thread = Number(byId('thread').value);
			graph.setMode('order');
			this.writeAddress();
		});
		addEventListener('popstate', () => {
			const query = parseQuery(searched());

			if (this.asksElse(query)) {
				location.reload();
				return;
			}
			this.hasAddress = true;
			this.readAddress();
		});
		document.querySelector('main').addEventListener('change', () => this.writeAddress());

		byId('event').addEventListener('change', () => {
			this.model.event = Number(byId('event').value);
			this.update();
		});
		byId('search').addEventListener('input', () => this.typed(byId('search').value));
		byId('search').addEventListener('change', () => this.setQuery(byId('search').value));
		byId('search').addEventListener('keydown', (event) => this.searchKey(event));
		byId('modes').addEventListener('change', (event) => {
			this.setMode(event.target.value);
			this.writeAddress(true);
		});
		byId('states').addEventListener('change', (event) => {
			graph.setStates(event.target.value === 'frames');
			this.sandwich.rebuild();
			this.showLegend();
		});
		byId('sides').addEventListener('change', (event) => {
			graph.side = Number(event.target.value);
			if (this.mode === 'order')
				this.makeThreads();
			graph.rebuild();
			this.sandwich.rebuild();
			this.found = this.matches(this.query.words);
			this.showFound();
		});
		byId('reset').addEventListener('click', () => graph.zoom(graph.graph.root));
		byId('zoom-time').addEventListener('click', () => this.zoomTime());
		byId('all-time').addEventListener('click', () => this.selectTime(0, this.data.nr_slices));
		byId('span').addEventListener('submit', (event) => this.readSpan(event));
		byId('span').addEventListener('change', (event) => this.readSpan(event));
		byId('theme').addEventListener('click', () => this.changeTheme());
		darkness.addEventListener('change', () => { followSystem(); this.recolor(); });
		document.addEventListener('keydown', (event) => this.key(event));
		const sizes = new ResizeObserver(() => this.resize());

		sizes.observe(byId('scroll'));
		sizes.observe(byId('time')); /* the graph may be hidden */
	}

	/* Sets widths; the parts set their heights. */
	resize() {
		const width = `${byId('scroll').clientWidth} ${byId('time').clientWidth}`;

		if (width === this.width)
			return;
		this.width = width;
		this.graph.layOut();
		this.sandwich.layOut();
		this.time.layOut();
		this.latency.layOut();
		this.experiments.layOut();
		this.heat.layOut();
	}

	/* A slash focuses the search unless an input has the focus. */
	key(event) {
		const isField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) &&
			!/^(radio|checkbox)$/.test(event.target.type);

		if (event.key !== '/' || isField || event.ctrlKey || event.metaKey || event.altKey)
			return;
		event.preventDefault();
		byId('search').focus();
		byId('search').select();
	}

	searchKey(event) {
		if (event.key === 'Escape') {
			this.search('');
		} else if (event.key !== 'Enter') {
			return;
		} else {
			this.setQuery(byId('search').value);
			this.picker.close();
		}
		event.preventDefault();
		(this.reports.shown ? byId('search') : byId('graph')).focus();
	}

	changeTheme() {
		const { dataset } = document.documentElement;

		dataset.theme = dataset.theme === 'dark' ? 'light' : 'dark';
		this.recolor();
	}

	recolor() {
		this.colors = new Colors();
		this.showLegend();
		this.showAnswer();
		this.graph.draw();
		this.sandwich.draw();
		this.time.draw();
		this.latency.draw();
		this.experiments.draw();
		this.heat.draw();
	}

	/* Updates everything that depends on the selection. */
	update() {
		this.model.add();
		if (this.mode === 'order')
			this.makeThreads();
		this.graph.rebuild();
		this.time.showValues();
		this.showSpan();
		this.zoomChanged();
		if (!this.time.drag)
			this.updateText();
	}

	/* During a drag over time only the graph follows; the rest is updated at the end. */
	updateText() {
		this.table.rebuild();
		this.sandwich.rebuild();
		this.showLegend();
		this.showAnswer();
		this.showOrderHelp();
		this.writeAddress();
		this.reports.show(this.reports.shown);
		if (this.found)
			this.sayFound();
	}

	selectTime(first, end) {
		if (first === this.model.first && end === this.model.end)
			return;
		this.model.first = first;
		this.model.end = end;
		this.query = parseQuery(replaced(this.query.text, this.query.spanText, this.model.isAllTime ? ''
			: `${exactTime(this.timeOf(first))}..${exactTime(this.timeOf(end))}`));
		byId('search').value = this.query.text;
		this.showChips();
		if (this.isUpdating)
			return;
		this.isUpdating = true;
		requestAnimationFrame(() => {
			this.isUpdating = false;
			this.update();
		});
	}

	/* Since the session's start. */
	timeOf(slice) {
		return this.data.start_ns + slice * this.data.slice_ns;
	}

	showSpan() {
		const { model } = this;
		const from = this.timeOf(model.first), to = this.timeOf(model.end);

		byId('from').value = exactTime(from);
		byId('to').value = exactTime(to);
		byId('all-time').disabled = model.isAllTime;
		byId('zoom-time').hidden = model.isAllTime || !this.source.isAsked;
		byId('span-said').textContent = byId('span').hidden ? '' :
			`${plural(model.allSamples(), 'sample')}, ${model.amount(model.all())}${model.isAllTime
				? '' : ` from ${time(from)} to ${time(to)}: --from=${exactTime(from)} --to=${exactTime(to)}`}`;
	}

	readSpan(event) {
		const { data } = this;
		const read = (id) => Math.round((parseTime(byId(id).value) - data.start_ns) / data.slice_ns);
		const first = Math.max(0, Math.min(data.nr_slices - 1, read('from')));
		const end = Math.max(first + 1, Math.min(data.nr_slices, read('to')));

		event.preventDefault();
		if (first >= 0 && end > first)
			this.selectTime(first, end);
		this.showSpan();
	}

	/* By function; null: all, as nothing is searched. */
	matches(text) {
		const wanted = text.trim().toLowerCase();

		return wanted ? Uint8Array.from(this.data.functions, (f) =>
			(f.name.toLowerCase().includes(wanted) ? 1 : 0)) : null;
	}

	/* Shows a function selected in the table. */
	show(of) {
		this.search(this.data.functions[of].name);
		this.found = Uint8Array.from(this.data.functions, (f, i) => (i === of ? 1 : 0));
		this.showFound();
		this.writeAddress();
		byId('graph-title').scrollIntoView({ block: 'center' });
	}

	isFound(of) {
		return this.found !== null && this.found[of] === 1;
	}

	sayFound() {
		const { found, model } = this;

		byId('found').textContent = !found ? '' : !found.includes(1) ? 'nothing found'
			: `${percent(model.found(found, this.graph.side))} of the samples`;
	}

	showFound() {
		const { found } = this;

		this.graph.isFound = found;
		this.sayFound();
		this.graph.draw();
		for (const view of this.sandwich.views) {
			view.isFound = found;
			view.draw();
		}
		this.table.show();
	}

	zoomChanged() {
		const { zoomed, graph } = this.graph;
		const isWhole = !zoomed.parent;

		byId('reset').disabled = isWhole;
		this.time.part = isWhole ? null : graph.slices(zoomed);
		this.time.draw();
		this.showPath(zoomed);
		this.say(zoomed);
	}

	showPath(zoomed) {
		const path = byId('path');
		const frames = [];

		for (let frame = zoomed; frame; frame = frame.parent)
			frames.unshift(frame);
		path.hidden = frames.length < 2;
		path.replaceChildren(...frames.slice(-8).map((frame) => {
			const button = element('button', this.nameOf(frame));

			button.type = 'button';
			if (frame === zoomed)
				button.setAttribute('aria-current', 'true');
			button.addEventListener('click', () => this.graph.zoom(frame));
			return button;
		}));
		if (zoomed.parent && !this.data.functions[zoomed.of].isProcess) {
			const button = element('button', 'callers and callees');

			button.type = 'button';
			button.className = 'to-sandwich';
			button.addEventListener('click', () => this.showSandwich(zoomed.of));
			path.append(button);
		}
	}

	nameOf(frame) {
		return frame.of !== ROOT ? this.data.functions[frame.of].name : 'all';
	}

	/* Lines about a frame, for the tooltip and for screen readers. */
	describe(frame, graph = this.graph.graph) {
		const { model, data } = this;
		const side = this.graph.side;
		const f = frame.of !== ROOT ? data.functions[frame.of] : null;
		const half = f ? graph.halfOf(frame) : null;
		const lines = [`${withHalf(model.share(frame.weight[side], side), half)}: ${
			model.amount(frame.weight[side])}, ${model.samplesText(frame.samples[side], f)}`];

		if (f)
			lines.unshift(data.objects[f.object]);
		if (f && frame.self[side] && frame.self[side] !== frame.weight[side])
			lines.push(`itself ${percent(model.share(frame.self[side], side))}`);
		if (model.nrSides > 1)
			lines.push(...this.describeChange(frame));
		if (graph.timesOf)
			lines.push(graph.timesOf(frame).map(instant).join(' to '));
		return lines;
	}

	describeChange(frame) {
		const { model } = this;
		const is = model.share(frame.weight[0], 0), was = model.share(frame.weight[1], 1);
		const lines = [`${percent(was)} before, ${percent(is)} now: ${points(is - was)}`];
		const result = frame.parent && this.certainty(frame.of);

		if (result)
			lines.push(`the function itself certainly changed: ${
				points(result.change, result.half)}`);
		return lines;
	}

	say(frame, graph = this.graph.graph) {
		byId('said').textContent = [this.nameOf(frame), ...this.describe(frame, graph)].join(' · ');
	}

	tip(frame, event, graph = this.graph.graph) {
		const tip = byId('tip');

		tip.hidden = !frame;
		if (!frame)
			return;
		tip.replaceChildren(element('b', this.nameOf(frame)),
			...this.describe(frame, graph).map((line) => element('span', line)));

		const left = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8);
		const below = event.clientY + 18;
		const isLow = below + tip.offsetHeight > innerHeight;

		tip.style.left = `${Math.max(4, left)}px`;
		tip.style.top = `${isLow ? event.clientY - tip.offsetHeight - 10 : below}px`;
	}

	certainty(of) {
		return this.certainties.get(`${this.model.event} ${of}`);
	}

	/* 1: increased significantly; -1: decreased; 0: not significant. */
	certain(of) {
		const result = this.certainty(of);

		return result ? Math.sign(result.change) : 0;
	}

	showLegend() {
		byId('legend').replaceChildren(...(this.model.nrSides > 1 ? this.changeLegend()
			: [...this.stateLegend(), ...(this.graph.hasStates ? this.objectLegend() : [])]));
	}

	/* Where the selected time went: a line of words and a bar, of states or of objects. */
	showAnswer() {
		const { model, data } = this;
		const { functions, objects } = data;
		const most = model.functions().filter((row) => !data.stateFunctions.has(row.of))
			.reduce((best, row) => (!best || row.self[0] > best.self[0] ? row : best), null);
		const threads = model.samplesOfThreads(0).reduce((nr, samples) => nr + (samples > 0 ? 1 : 0), 0);
		const states = model.states().map(([of, weight]) => ({ name: functions[of].name, weight, color: this.graph.stateColor(of) }));
		const parts = states.length ? states : this.objectParts().filter((part) => part.weight > 0).map((part) => ({ ...part, color: this.colors.of(part.color, 0) }));
		const f = most && functions[most.of];

		byId('answer').hidden = !this.hasSamples || !f;
		if (!f)
			return;
		byId('answer').firstElementChild.textContent = `${model.amount(model.all())} in ${plural(threads, 'thread')}: ${
			parts.slice(0, 3).map((part) => `${percent(model.share(part.weight))} ${states.length ? part.name : `in ${part.name}`}`).join(', ')
		}. The largest function is ${f.name}${objects[f.object] ? ` (${objects[f.object]})` : ''}: ${percent(model.share(most.self[0]))}.`;
		byId('parts').setAttribute('aria-label', parts.map((part) => `${part.name} ${percent(model.share(part.weight))}`).join(', '));
		byId('parts').replaceChildren(...parts.map((part) => {
			const item = element('i');

			item.style.width = `${100 * model.share(part.weight)}%`;
			item.style.background = part.color;
			item.title = `${part.name} ${percent(model.share(part.weight))}`;
			return item;
		}));
	}

	stateLegend() {
		return this.graph.graph.statesOf(this.graph.graph.root).map(([of, weight]) =>
			mark(`${this.data.functions[of].name} ${percent(this.model.share(weight))}`,
				this.graph.stateColor(of)));
	}

	/* Of CPU time, by object and the kernel, the one with most first: {name, color, weight}. A wait is where the kernel
	 * puts a thread aside, and no work of the kernel's. */
	objectParts() {
		const { functions, objects, stateFunctions } = this.data;
		const own = this.model.ownOnCpu();
		const parts = new Map();

		for (const { of } of this.model.functions()) {
			const f = functions[of];

			if (stateFunctions.has(of))
				continue;

			const color = f.isKernel ? KERNEL_COLOR : this.graph.objectColors.get(f.object);
			const part = parts.get(color) || { color, weight: 0,
				name: f.isKernel ? 'kernel' : color ? objects[f.object] : 'other objects' };

			part.weight += own[of];
			parts.set(color, part);
		}

		return [...parts.values()].sort((a, b) => b.weight - a.weight);
	}

	objectLegend() {
		const { stateFunctions } = this.data;
		const parts = this.objectParts();
		const all = parts.reduce((sum, part) => sum + part.weight, 0);
		const marks = parts.slice(0, LEGEND_NAMES)
			.map((part) => mark(part.weight ? `${part.name} ${percent(part.weight / all)}` : part.name,
				this.colors.of(part.color, 0)));

		return stateFunctions.size ? [element('li', 'of CPU time:'), ...marks] : marks;
	}

	changeLegend() {
		const scale = element('li', 'less · as before · more than before');

		scale.prepend(element('i', undefined, 'scale'));
		return [scale, element('li', 'full colour from twice as much (or half) on; pale what may be by chance'),
			element('li', '▲ ▼ functions that certainly changed, by themselves')];
	}
}

function mark(text, color) {
	const item = element('li', text);
	const spot = element('i');

	spot.style.background = color;
	item.prepend(spot);
	return item;
}

function choice(value, text) {
	const option = element('option', text);

	option.value = value;
	return option;
}

function threadName(thread) {
	const number = thread.number ? ` #${thread.number}` : "";

	return `${thread.comm}, thread ${idOf(thread.tid)}${number}`;
}

/* By field of the search line, [value, what is said of it], the one with the most samples first. */
function valuesOf(data) {
	const processes = processesOf(data).filter((p) => p.samples > 0);
	const samples = threadSamples(data);
	const threads = processes.flatMap((p) => p.sampled).filter((i) => data.threads[i].tid < SEVERAL);
	const comms = new Map();

	data.threads.forEach((t, i) => samples[i] > 0 && comms.set(t.comm, (comms.get(t.comm) || 0) + samples[i]));
	return {
		pid: processes.filter((p) => p.pid !== SEVERAL).slice(0, MAX_TASKS).map((p) => [p.pid, processName(data, p)]),
		thread: [...comms].sort((a, b) => b[1] - a[1]).slice(0, MAX_TASKS).map(([comm, nr]) => [comm, plural(nr, 'sample')]),
		tid: threads.slice(0, MAX_TASKS).map((i) => [data.threads[i].tid, threadName(data.threads[i])]),
		...data.hosts.length ? { host: data.hosts.map((name) => [name, '']) } : {},
		...data.regions.length > 1 ? { region: [...regionsWithSamples(data).slice(0, MAX_TASKS).map((i) => [data.regions[i].path, '']),
			['-', 'outside of regions']] } : {},
	};
}

/* The significant changes that cpuperf_print found. */
function certaintiesOf(data) {
	const map = new Map();

	for (const [event, of, change, half] of data.certain || [])
		map.set(`${event} ${of}`, { change, half });
	return map;
}

/* An interface for tests. */
function interfaceOf(page) {
	return {
		page,
		frames: () => page.graph.rows.flat().map(({ frame, left, width }) => ({
			name: page.nameOf(frame), depth: frame.depth, left, width,
			top: page.graph.topOf(frame.depth), height: ROW,
			weight: frame.weight, samples: frame.samples, color: page.graph.colorOf(frame),
			parts: page.graph.partsOf(frame) })),
		functions: () => page.table.sorted().map((row) => ({
			name: page.data.functions[row.of].name,
			object: page.data.objects[page.data.functions[row.of].object],
			self: row.self, total: row.total, samples: row.selfSamples })),
		strips: () => page.heat.strips.map(({ name, lines, scale, height, canvas }) => ({ name, scale, height,
			left: STRIP_LABEL, width: canvas.clientWidth - STRIP_LABEL,
			lines: lines.map(({ cpu, unit, per, values }) => ({ cpu, unit, per, values })) })),
		callers: () => page.model.calls(page.sandwich.of),
		sandwich: () => page.sandwich.views.map((view) => view.rows.flat().map(({ frame, left, width }) => ({
			name: page.nameOf(frame), depth: frame.depth, left, width, top: view.topOf(frame.depth), weight: frame.weight }))),
		order: () => {
			const out = [];
			const add = (frame) => {
				out.push({ name: page.nameOf(frame), depth: frame.depth, from: frame.timed.start, to: frame.timed.end,
					weight: frame.weight[0], self: frame.self[0], samples: frame.samples[0] });
				page.graph.graph.children(frame).forEach(add);
			};

			add(page.graph.graph.root);
			return out;
		},
		values: () => page.values,
		focused: () => page.nameOf(page.graph.focused),
		zoomed: () => page.nameOf(page.graph.zoomed),
		isMoving: () => page.graph.window.some((x, i) => x !== windowOf(page.graph.zoomed)[i]),
	};
}

/* What the address searches. */
function searched() {
	return new URLSearchParams(location.hash.slice(1)).get('search') || '';
}

/* A file has its data; else the server has them. */
async function start() {
	const data = JSON.parse(byId('data').textContent);
	const source = data ? new Embedded(data) : new Asked();

	followSystem();
	if (!data) {
		const query = parseQuery(searched());
		const link = element('a', 'save this page as a file');

		link.href = `/html?${argumentsOf(query, null, true)}`;
		link.download = 'cpuperf.html';
		byId('whole').replaceChildren(link, '.');
		await source.open(query);
	}
	document.body.removeAttribute('aria-busy');
	window.cpuperf = interfaceOf(new Page(decode(source.data), source));
}

start().catch((error) => {
	document.body.removeAttribute('aria-busy');
	byId('fault').textContent = `This page cannot show its data: ${error.message} `;
	if (searched()) {
		byId('fault').append(element('a', 'Without what is searched'));
		byId('fault').lastChild.href = location.pathname;
	}
	byId('fault').hidden = false;
	throw error;
});
