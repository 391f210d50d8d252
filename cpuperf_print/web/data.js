/*
 * Decodes the text in the page into arrays. page.c describes the data. Must not depend on the page.
 */
const SEVERAL = 0xfffffffe; /* pid of merged processes of one name, if there are too many */
const UNKNOWN = 0xffffffff; /* pid or tid of samples without a task */
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const DIGIT_OF = new Uint8Array(128);

for (let i = 0; i < DIGITS.length; i++)
	DIGIT_OF[DIGITS.charCodeAt(i)] = i;

/* A sequence of integers: five bits per character, the lowest first. */
class Numbers {
	constructor(text) {
		this.text = text;
		this.at = 0;
	}

	get isOver() {
		return this.at >= this.text.length;
	}

	next() {
		let digit = DIGIT_OF[this.text.charCodeAt(this.at++)];
		let number = digit & 31;

		for (let factor = 32; digit & 32; factor *= 32) {
			digit = DIGIT_OF[this.text.charCodeAt(this.at++)];
			number += (digit & 31) * factor;
		}
		return number;
	}
}

/* Nodes in depth-first order: each after its parent, before the parent's next child. */
function decodeTree(text, nr) {
	const numbers = new Numbers(text);
	const tree = {
		nr,
		of: new Uint32Array(nr),
		parent: new Int32Array(nr),
		depth: new Uint16Array(nr),
		end: null,
	};
	const way = [0];

	tree.parent[0] = -1;
	tree.of[0] = 0xffffffff;
	for (let i = 1; i < nr; i++) {
		const left = numbers.next();

		way.length -= left;
		tree.parent[i] = way[way.length - 1];
		tree.depth[i] = way.length;
		tree.of[i] = numbers.next();
		way.push(i);
	}
	tree.end = endsOf(tree.parent);
	return tree;
}

/* Nodes whose function is not among their callers: what is below these is a function's total. */
function findOutermost(tree, nrFunctions) {
	const is = new Uint8Array(tree.nr);
	const within = new Uint32Array(nrFunctions); /* the end of the node that contains it */

	for (let i = 1; i < tree.nr; i++) {
		const f = tree.of[i];

		if (i < within[f])
			continue;
		within[f] = tree.end[i];
		is[i] = 1;
	}
	return is;
}

/* The samples of a group in a slice of time, by node. */
function decodeCells(text, nr, tree, groups, events) {
	const numbers = new Numbers(text);
	const cells = {
		nr,
		node: new Uint32Array(nr),
		group: new Uint32Array(nr),
		slice: new Uint16Array(nr),
		samples: new Float64Array(nr),
		weight: new Float64Array(nr),
		first: new Uint32Array(tree.nr + 1), /* by node */
	};
	let at = 0;

	for (let node = 0; node < tree.nr; node++) {
		cells.first[node] = at;
		for (let runs = numbers.next(); runs > 0; runs--) {
			const group = numbers.next();
			const period = events[groups.event[group]].period;
			let slice = 0;

			for (let left = numbers.next(); left > 0; left--) {
				const step = numbers.next();
				const samples = step % 2 ? numbers.next() + 2 : 1;

				slice += Math.floor(step / 2);
				cells.node[at] = node;
				cells.group[at] = group;
				cells.slice[at] = slice;
				cells.samples[at] = samples;
				cells.weight[at++] = period ? samples * period : numbers.next();
			}
		}
	}
	cells.first[tree.nr] = at;
	return cells;
}

function decodeGroups(text) {
	const numbers = new Numbers(text);
	const groups = { side: [], event: [], thread: [], region: [] };

	while (!numbers.isOver) {
		groups.side.push(numbers.next());
		groups.event.push(numbers.next());
		groups.thread.push(numbers.next());
		groups.region.push(numbers.next());
	}
	return groups;
}

function decodeThreads(text, comms) {
	const numbers = new Numbers(text);
	const threads = [];

	while (!numbers.isOver)
		threads.push({ comm: comms[numbers.next()], pid: numbers.next(), tid: numbers.next(),
			number: numbers.next(), host: numbers.next() });
	return threads;
}

function decodeFunctions(page) {
	const numbers = new Numbers(page.functions);
	const ranks = new Numbers(page.ranks);

	return page.names.map((name) => {
		const code = numbers.next();

		return { name, object: Math.floor(code / 2), isKernel: code % 2 === 1, rank: ranks.next() };
	});
}

/* Of each node the one whose function is the program's own: the innermost of the highest rank. States and processes have none. */
function findOwn({ tree, functions, objects }) {
	const own = new Uint32Array(tree.nr);
	const rankOf = (node) => (node ? objects[functions[tree.of[node]].object] && functions[tree.of[node]].rank || 0 : -1);

	for (let i = 1; i < tree.nr; i++)
		own[i] = rankOf(i) >= rankOf(own[tree.parent[i]]) ? i : own[tree.parent[i]];
	return own;
}

/* What threads do, as frames of no object. */
const STATES = ['on CPU', 'waiting for a CPU', 'blocked', 'blocked or waiting for a CPU', 'idle'];

/* Per node: whether it is a state, and the state's function of the samples at it; 0xffffffff: none. */
function findStates(data) {
	const { tree, functions, objects } = data;
	const isState = new Uint8Array(tree.nr);
	const stateOf = new Uint32Array(tree.nr).fill(0xffffffff);

	for (let i = 1; i < tree.nr; i++) {
		const f = functions[tree.of[i]];

		isState[i] = !f.isProcess && !objects[f.object] && STATES.includes(f.name) ? 1 : 0;
		stateOf[i] = isState[i] ? tree.of[i] : stateOf[tree.parent[i]];
	}
	return { isState, stateOf, stateFunctions: new Set(stateOf.filter((of) => of !== 0xffffffff)) };
}

/* In order of time; value: of the first of nr, null if it has none. */
function decodeInstants(text, marks) {
	const numbers = new Numbers(text);
	const instants = [];
	let ns = 0;

	while (!numbers.isOver) {
		ns += numbers.next();
		const name = marks[numbers.next()];
		const nr = numbers.next() + 1;
		const sign = [0, 1, -1][numbers.next()];

		instants.push({ ns, name, nr, value: sign ? sign * numbers.next() : null });
	}
	return instants;
}

/* Of each level, the slices in order of time; times since the session's start. */
function decodeTrack(track, marks) {
	const numbers = new Numbers(track.slices);
	const levels = [];

	while (levels.length < track.depth) {
		const slices = [];
		let at = 0;

		for (let left = numbers.next(); left > 0; left--) {
			const begin = at + numbers.next();
			const end = begin + numbers.next();
			const region = numbers.next();
			const code = numbers.next();

			slices.push({ begin, end, region, calls: Math.floor(code / 2) + 1, hasClosed: code % 2 === 1 });
			at = end;
		}
		levels.push(slices);
	}
	return { ...track, levels, instants: decodeInstants(track.instants, marks) };
}

/* By number: its path, and the number of the one around it; 0 stands for several, or none. */
function decodeRegions(list) {
	const regions = [{ name: 'several regions', path: 'several regions', outer: 0, depth: 0 }];

	for (const { name, outer } of list)
		regions.push({ name, outer, path: outer ? `${regions[outer].path} > ${name}` : name,
			depth: outer ? regions[outer].depth + 1 : 0 });
	return regions;
}

/* The end of each node: the index after the last node below it. */
function endsOf(parent) {
	const end = new Uint32Array(parent.length);

	for (let i = parent.length - 1; i >= 0; i--) {
		end[i] = Math.max(end[i], i + 1);
		if (i)
			end[parent[i]] = Math.max(end[parent[i]], end[i]);
	}
	return end;
}

function idOf(id) {
	return id === SEVERAL ? 'several processes' : id === UNKNOWN ? 'unknown' : id;
}

/* Threads of a process have one key. */
function processKey(thread) {
	return `${thread.host} ${thread.pid < SEVERAL ? '' : thread.comm} ${thread.pid}`;
}

/* Processes, the one with the most samples first: their threads, and what they are called. */
function processesOf(data) {
	const { threads } = data;
	const samples = threadSamples(data);
	const processes = new Map();

	threads.forEach((thread, i) => {
		const key = processKey(thread);
		const p = processes.get(key) || { samples: 0, threads: [] };

		p.samples += samples[i];
		p.threads.push(i);
		processes.set(key, p);
	});
	for (const p of processes.values()) {
		p.threads.sort((a, b) => samples[b] - samples[a]);

		/* The first thread has the process's name; it may have no samples. */
		const first = p.threads.find((i) => threads[i].tid === threads[i].pid);

		Object.assign(p, threads[first ?? p.threads[0]]);
		p.sampled = p.threads.filter((i) => samples[i] > 0);
	}
	return [...processes.values()].sort((a, b) => b.samples - a.samples);
}

function processName(data, p) {
	return `${p.comm} (${idOf(p.pid)})${data.hosts.length ? ` on ${data.hosts[p.host]}` : ''}`;
}

const MAX_NODES = 3e6;

/*
 * The tree and the cells with a frame for each process, or for each name of processes, around the others,
 * the one with the most samples first: what they share is there as often as there are processes with it.
 * null: too many nodes.
 */
function withProcesses(data, isByName) {
	const { groups, threads } = data;
	const { tree, cells } = data.plain;
	const functions = [...data.plain.functions];
	const numbers = new Map();
	const processOf = new Int32Array(threads.length);

	for (const p of processesOf(data)) {
		const name = isByName ? p.comm : processName(data, p);
		const key = isByName ? p.comm : processKey(p);

		if (!numbers.has(key)) {
			numbers.set(key, numbers.size);
			functions.push({ name, object: data.objects.length - 1, isKernel: false, isProcess: true });
		}
		p.threads.forEach((i) => { processOf[i] = numbers.get(key); });
	}

	const lists = Array.from({ length: numbers.size }, () => []);
	const parent = [-1], of = [0xffffffff], depth = [0];
	const stamp = new Int32Array(tree.nr).fill(-1), made = new Uint32Array(tree.nr);
	const order = new Uint32Array(cells.nr), node = new Uint32Array(cells.nr);
	let nr = 0;

	for (let i = 0; i < cells.nr; i++)
		lists[processOf[groups.thread[cells.group[i]]]].push(i);
	for (let p = 0; p < lists.length; p++) {
		if (!lists[p].length)
			continue;
		stamp[0] = p;
		made[0] = parent.push(0) - 1;
		of.push(data.plain.functions.length + p);
		depth.push(1);
		for (const i of lists[p]) {
			const chain = [];

			for (let n = cells.node[i]; stamp[n] !== p; n = tree.parent[n])
				chain.push(n);
			for (const n of chain.reverse()) {
				const above = made[tree.parent[n]];

				stamp[n] = p;
				made[n] = parent.push(above) - 1;
				of.push(tree.of[n]);
				depth.push(depth[above] + 1);
			}
			node[nr] = made[cells.node[i]];
			order[nr++] = i;
		}
		if (parent.length > MAX_NODES)
			return null;
	}
	return { functions, tree: { nr: parent.length, of: Uint32Array.from(of), parent: Int32Array.from(parent),
		depth: Uint16Array.from(depth), end: endsOf(parent) }, cells: cellsInOrder(cells, order, node, parent.length) };
}

/* Cells in another order, at other nodes. */
function cellsInOrder(cells, order, node, nrNodes) {
	const out = { nr: cells.nr, node, first: new Uint32Array(nrNodes + 1) };

	for (const name of ['group', 'slice', 'samples', 'weight'])
		out[name] = cells[name].map((x, i) => cells[name][order[i]]);
	for (let i = 0; i < cells.nr; i++)
		out.first[node[i] + 1]++;
	for (let i = 0; i < nrNodes; i++)
		out.first[i + 1] += out.first[i];
	return out;
}

/* isByName: null: no processes. False: there are too many. */
function setProcesses(data, isByName) {
	const made = isByName === null ? data.plain : withProcesses(data, isByName);

	if (!made)
		return false;
	Object.assign(data, made);
	data.outermost = findOutermost(data.tree, data.functions.length);
	data.own = findOwn(data);
	Object.assign(data, findStates(data));
	return true;
}

const MAX_THREAD_LANES = 40;

/* Samples of all events by thread. */
function threadSamples(data) {
	const { cells, groups, threads } = data;
	const samples = new Float64Array(threads.length);

	for (let i = 0; i < cells.nr; i++)
		samples[groups.thread[cells.group[i]]] += cells.samples[i];
	return samples;
}

/* Lanes of the time axis: the hosts of a job; else threads, the heaviest first. of: by thread; -1: none. */
function findLanes(data) {
	const { threads, hosts } = data;

	if (hosts.length)
		return { what: 'host', names: hosts, of: threads.map((t) => t.host) };

	const samples = threadSamples(data);
	const list = threads.map((t, i) => i).filter((i) => samples[i] > 0)
		.sort((a, b) => samples[b] - samples[a]);
	const shown = list.length > 1 ? list.slice(0, MAX_THREAD_LANES) : [];
	const of = threads.map(() => -1);

	shown.forEach((thread, lane) => { of[thread] = lane; });
	return { what: 'thread', names: shown.map((i) => threadName(threads[i])), of };
}

function decode(page) {
	const data = { ...page };

	data.functions = decodeFunctions(page);
	data.tree = decodeTree(page.tree, page.nr_nodes);
	data.groups = decodeGroups(page.groups);
	data.threads = decodeThreads(page.threads, page.comms);
	data.cells = decodeCells(page.cells, page.nr_cells, data.tree, data.groups, page.events);
	data.objects = [...page.objects, 'process'];
	data.plain = { functions: data.functions, tree: data.tree, cells: data.cells };
	setProcesses(data, null);
	data.lanes = findLanes(data);
	data.regions = decodeRegions(page.regions);
	data.tracks = page.tracks.map((track) => decodeTrack(track, page.marks));
	return data;
}
