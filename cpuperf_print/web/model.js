const OVERFULL = 1.5; /* of a slice: less is chance, and stays where it is */
const NOT_SAMPLED = '[not sampled]'; /* what records of switches show of the time without a sample */

/* Of any side, or records of switches stand for samples. */
function isSampled(event) {
	return event.made || event.samples.some((n) => n > 0);
}

/*
 * The selection, and the sums of its samples: by node, function and slice of time. Must not depend
 * on the page.
 */
class Model {
	constructor(data) {
		this.data = data;
		this.event = Math.max(0, data.events.findIndex((e) => e.made || e.samples[0] > 0));
		this.who = () => true; /* whether a thread is selected */
		this.within = () => true; /* whether a region is */
		this.first = 0;
		this.end = data.nr_slices;
		this.nrSides = data.sides.length;
		this.fit();
		this.slices = data.sides.map(() => new Float64Array(data.nr_slices));
		this.laneSlices = data.lanes.names.map(() => new Float64Array(data.nr_slices)); /* now */
		/* the same by state, where threads have some; in the order of STATES */
		this.laneStates = data.stateFunctions.size ? data.lanes.names.map(() => STATES.map(() => new Float64Array(data.nr_slices))) : [];
		this.add();
	}

	/* To the tree; then add. */
	fit() {
		const { sides, tree } = this.data;

		for (const name of ['self', 'selfSamples', 'total', 'totalSamples'])
			this[name] = sides.map(() => new Float64Array(tree.nr));
	}

	get isAllTime() {
		return this.first === 0 && this.end === this.data.nr_slices;
	}

	get unit() {
		return this.data.events[this.event]?.unit || '';
	}

	/* What allocates for others counts at the program's function that called it. */
	get isInProgram() {
		return this.data.events[this.event]?.in_program === 1;
	}

	/* So does a wait, as in the answer: it is no work of the kernel's. What is certain of two sides is of functions as sampled. */
	owners() {
		const { tree, functions, stateOf, own } = this.data;
		const isWait = (node) => this.nrSides === 1 && functions[stateOf[node]] && functions[stateOf[node]].name !== STATES[0];
		const { isInProgram } = this;

		if (!this.ownersFor || this.ownersFor.tree !== tree || this.ownersFor.event !== this.event)
			this.ownersFor = { tree, event: this.event,
				of: tree.of.map((of, node) => (isInProgram || isWait(node) ? tree.of[own[node]] : of)) };
		return this.ownersFor.of;
	}

	amount(weight) {
		return amount(weight * (this.data.events[this.event]?.scale || 1), this.unit);
	}

	all(side = 0) {
		return this.total[side][0];
	}

	allSamples(side = 0) {
		return this.totalSamples[side][0];
	}

	/* The share of the selection. */
	share(weight, side = 0) {
		return this.all(side) ? weight / this.all(side) : 0;
	}

	chooseGroups() {
		const { groups, threads } = this.data;

		this.isWanted = Uint8Array.from(groups.event, (event, i) =>
			event === this.event && this.who(threads[groups.thread[i]], groups.thread[i]) && this.within(groups.region[i]) ? 1 : 0);
	}

	/* By cell, the parts {slice, weight} of what took longer than the slice that it ended in; of a thread one
	 * thing at a time, of several threads nothing. What was before the time shown is not drawn. */
	movedOf(event) {
		const { data } = this, { cells, groups, threads } = data;
		const sliceNs = data.slice_ns / (data.events[event].scale || 1);
		const full = new Set(), lists = new Map(), moved = new Map();
		const sums = new Map();
		/* -1: of several threads */
		const keys = Int32Array.from(groups.thread, (thread, group) => {
			const { pid, tid } = threads[thread];

			return groups.event[group] !== event || !tid || pid >= SEVERAL || tid >= SEVERAL ? -1
				: thread * this.nrSides + groups.side[group];
		});

		keys.forEach((key) => key >= 0 && !sums.has(key) && sums.set(key, new Float64Array(data.nr_slices)));

		const sumOf = Array.from(keys, (key) => sums.get(key));

		for (let i = 0; i < cells.nr; i++)
			if (sumOf[cells.group[i]])
				sumOf[cells.group[i]][cells.slice[i]] += cells.weight[i];
		sums.forEach((sum, key) => sum.some((x) => x > OVERFULL * sliceNs) && full.add(key));
		for (let i = 0; full.size && i < cells.nr; i++) {
			const key = keys[cells.group[i]];

			if (!full.has(key))
				continue;
			if (!lists.has(key))
				lists.set(key, []);
			lists.get(key).push(i);
		}
		for (const list of lists.values()) {
			const items = list.map((i) => ({ cell: i, slice: cells.slice[i], samples: cells.samples[i], weight: cells.weight[i] }));

			list.forEach((i) => moved.set(i, []));
			spreadOverTime(entriesBySlice(items, data.nr_slices), sliceNs).forEach((entries, slice) => {
				let room = slice || data.start_ns ? sliceNs : Infinity;

				for (const { cell, weight } of entries) {
					moved.get(cell).push({ slice, weight: Math.min(weight, room) });
					room = Math.max(0, room - weight);
				}
			});
		}
		return moved;
	}

	/* Adds a cell to the slices that its time was in. */
	addInTime(slices, i) {
		const { cells } = this.data;
		const parts = this.moved.size && this.moved.get(i);

		if (!parts)
			slices[cells.slice[i]] += cells.weight[i];
		else
			parts.forEach(({ slice, weight }) => { slices[slice] += weight; });
	}

	findMoved() {
		const { cells } = this.data;

		if (this.movedFor && this.movedFor.cells === cells && this.movedFor.event === this.event)
			return;
		this.movedFor = { cells, event: this.event };
		this.moved = this.data.events.length && this.unit === 'ns' ? this.movedOf(this.event) : new Map();
	}

	/* What threads do: [function, weight] of each state, in the order of STATES. */
	states() {
		const { functions, stateOf } = this.data;
		const weights = new Map();

		this.self[0].forEach((weight, i) => weight && functions[stateOf[i]] &&
			weights.set(stateOf[i], (weights.get(stateOf[i]) || 0) + weight));
		return [...weights].sort((a, b) => STATES.indexOf(functions[a[0]].name) - STATES.indexOf(functions[b[0]].name));
	}

	/* Call after each change of the selection. */
	add() {
		const { cells, groups, lanes, tree } = this.data;

		this.chooseGroups();
		this.findMoved();
		this.ofFunctions = this.ofCpu = null;
		this.whole = this.data.sides.map(() => null);
		for (const list of [this.self, this.selfSamples, this.slices, this.laneSlices, ...this.laneStates])
			list.forEach((numbers) => numbers.fill(0));

		/* once for each cell: of a million samples that is most of what a click takes */
		const { isWanted, first, end } = this;
		const laneOf = Int32Array.from(groups.thread, (thread, group) => (groups.side[group] === 0 ? lanes.of[thread] : -1));
		const hasMoved = this.moved.size > 0;
		const stateAt = this.laneStates.length ? Int32Array.from(this.data.stateOf,
			(of) => (this.data.functions[of] ? STATES.indexOf(this.data.functions[of].name) : -1)) : [];

		for (let i = 0; i < cells.nr; i++) {
			const group = cells.group[i];

			if (!isWanted[group])
				continue;

			const side = groups.side[group], slice = cells.slice[i], weight = cells.weight[i], lane = laneOf[group];

			if (hasMoved) {
				this.addInTime(this.slices[side], i);
				if (lane >= 0)
					this.addInTime(this.laneSlices[lane], i);
			} else {
				this.slices[side][slice] += weight;
				if (lane >= 0)
					this.laneSlices[lane][slice] += weight;
			}
			if (lane >= 0 && stateAt[cells.node[i]] >= 0)
				this.addInTime(this.laneStates[lane][stateAt[cells.node[i]]], i);
			if (slice < first || slice >= end)
				continue;
			this.self[side][cells.node[i]] += weight;
			this.selfSamples[side][cells.node[i]] += cells.samples[i];
		}
		for (let side = 0; side < this.nrSides; side++) {
			addUp(tree, this.self[side], this.total[side]);
			addUp(tree, this.selfSamples[side], this.totalSamples[side]);
		}
	}

	/* Of which some are none, but records of switches, where the event has these. */
	samplesText(nr, f = null, event = this.event) {
		if (!this.data.events[event]?.made)
			return plural(nr, 'sample');
		if (f && f.name === NOT_SAMPLED)
			return 'by records of switches';
		return f && !f.isProcess ? plural(nr, 'sample') : `${plural(nr, 'sample')} and records of switches`;
	}

	/* Self and total weights of functions. */
	functions() {
		this.ofFunctions = this.ofFunctions || this.addFunctions();
		return this.ofFunctions;
	}

	addFunctions() {
		const { tree, outermost, functions } = this.data;
		const rows = functions.map((f, of) => ({
			of, self: [0, 0], selfSamples: [0, 0], total: [0, 0], totalSamples: [0, 0] }));

		const owners = this.owners(), hasMade = this.data.events[this.event]?.made;

		for (let side = 0; side < this.nrSides; side++)
			for (let i = 1; i < tree.nr; i++) {
				if (!this.totalSamples[side][i])
					continue;

				const row = rows[tree.of[i]];
				const by = rows[owners[i]];

				by.self[side] += this.self[side][i];
				by.selfSamples[side] += hasMade && functions[tree.of[i]].name === NOT_SAMPLED ? 0 : this.selfSamples[side][i];
				row.total[side] += outermost[i] ? this.total[side][i] : 0;
				row.totalSamples[side] += outermost[i] ? this.totalSamples[side][i] : 0;
			}

		const onCpu = this.ownOnCpu();

		rows.forEach((row) => { row.onCpu = onCpu[row.of]; });
		return rows.filter((row) => !functions[row.of].isProcess && row.totalSamples[0] + row.totalSamples[1] > 0);
	}

	/* The self weight of each function, without what waited. */
	ownOnCpu() {
		const { tree, functions, stateOf } = this.data;
		const owners = this.owners();
		const weights = this.ofCpu || new Float64Array(functions.length);

		for (let i = 1; i < tree.nr && !this.ofCpu; i++)
			if (this.self[0][i] && (!functions[stateOf[i]] || functions[stateOf[i]].name === STATES[0]))
				weights[owners[i]] += this.self[0][i];
		this.ofCpu = weights;
		return weights;
	}

	/* The share of the selected samples with one of these functions on their stack. */
	found(isFound, side = 0) {
		const { tree } = this.data;
		const below = new Uint8Array(tree.nr);
		let weight = 0;

		for (let i = 1; i < tree.nr; i++) {
			below[i] = isFound[tree.of[i]] || below[tree.parent[i]] ? 1 : 0;
			weight += below[i] ? this.self[side][i] : 0;
		}
		return this.share(weight, side);
	}

	/* The samples of these nodes (self, or with those below) by slice of time; and of each lane. */
	slicesOf(nodes, withBelow) {
		const { cells, groups, lanes, tree } = this.data;
		const all = new Float64Array(this.data.nr_slices);
		const ofLanes = this.laneSlices.map(() => new Float64Array(this.data.nr_slices));

		for (const node of nodes) {
			const end = cells.first[withBelow ? tree.end[node] : node + 1];

			for (let i = cells.first[node]; i < end; i++) {
				const group = cells.group[i];

				if (!this.isWanted[group] || groups.side[group] !== 0)
					continue;
				this.addInTime(all, i);

				const lane = lanes.of[groups.thread[group]];

				if (lane >= 0)
					this.addInTime(ofLanes[lane], i);
			}
		}
		return { all, lanes: ofLanes };
	}

	/* What an interval needs of the selected samples of these nodes (self, or with those below): their
	 * number, sum, and sum of squares (by what the event has of them). */
	partOf(nodes, withBelow, side) {
		const { cells, groups, tree } = this.data;
		const part = { nr: 0, sum: 0, squares: 0 };

		for (const node of nodes) {
			const end = cells.first[withBelow ? tree.end[node] : node + 1];

			for (let i = cells.first[node]; i < end; i++) {
				const group = cells.group[i], slice = cells.slice[i];

				if (!this.isWanted[group] || groups.side[group] !== side || slice < this.first || slice >= this.end)
					continue;
				part.nr += cells.samples[i];
				part.sum += cells.weight[i];
			}
		}
		part.squares = part.sum * this.data.events[this.event].squares;
		return part;
	}

	/* Half of the 95 % interval of the nodes' share; null: nothing was left to chance. */
	halfOf(nodes, withBelow, side = 0) {
		if (this.data.events[this.event].exact || !this.data.events[this.event].squares || !this.all(side))
			return null;
		this.whole[side] = this.whole[side] || this.partOf([0], true, side);
		return halfOfShare(this.partOf(nodes, withBelow, side), this.whole[side]);
	}

	/* Who calls a function and whom it calls, as --report=calls: a call counts once for each sample, also
	 * where it recurs. By function: weight and samples of both sides, and the nodes. */
	calls(of) {
		const { tree, functions, isState } = this.data;
		const isNone = (node) => node <= 0 || isState[node] === 1 || functions[tree.of[node]].isProcess;
		const lists = { callers: new Map(), callees: new Map() };
		const add = (list, other, node) => {
			const call = list.get(other) || { of: other, weight: [0, 0], samples: [0, 0], nodes: [], end: 0 };

			list.set(other, call);
			if (node < call.end || !this.totalSamples.some((side) => side[node]))
				return;
			call.end = tree.end[node];
			call.nodes.push(node);
			for (let s = 0; s < this.nrSides; s++) {
				call.weight[s] += this.total[s][node];
				call.samples[s] += this.totalSamples[s][node];
			}
		};

		for (let i = 1; i < tree.nr; i++) {
			if (isNone(i) || isNone(tree.parent[i]))
				continue;
			if (tree.of[i] === of)
				add(lists.callers, tree.of[tree.parent[i]], i);
			if (tree.of[tree.parent[i]] === of)
				add(lists.callees, tree.of[i], i);
		}

		const sorted = (map) => [...map.values()].filter((call) => call.nodes.length)
			.sort((a, b) => b.weight[0] + b.weight[1] - a.weight[0] - a.weight[1]);

		return { callers: sorted(lists.callers), callees: sorted(lists.callees) };
	}

	/* What orderOf needs of the selected samples of a thread; ids of functions are of the way below processes. */
	itemsOf(thread, side, hasStates) {
		const { cells, groups, tree, functions, isState } = this.data;
		const ways = new Map();
		const wayOf = (node) => {
			if (!ways.has(node)) {
				const way = node ? wayOf(tree.parent[node]) : [];
				const isSkipped = !node || functions[tree.of[node]].isProcess || (!hasStates && isState[node]);

				ways.set(node, isSkipped ? way : [...way, tree.of[node]]);
			}
			return ways.get(node);
		};
		const items = [];

		for (let i = 0; i < cells.nr; i++) {
			const group = cells.group[i], slice = cells.slice[i];

			if (this.isWanted[group] && groups.thread[group] === thread && groups.side[group] === side &&
				slice >= this.first && slice < this.end)
				items.push({ slice: slice - this.first, way: wayOf(cells.node[i]), samples: cells.samples[i], weight: cells.weight[i] });
		}
		return items;
	}

	/* Selected samples by thread. */
	samplesOfThreads(side) {
		const { cells, groups, threads } = this.data;
		const samples = new Float64Array(threads.length);

		for (let i = 0; i < cells.nr; i++)
			if (this.isWanted[cells.group[i]] && groups.side[cells.group[i]] === side)
				samples[groups.thread[cells.group[i]]] += cells.samples[i];
		return samples;
	}

	/* The colour of a change of a share: from -1 to 1; near 0 if it may be due to chance. */
	change(weight, samples) {
		const share = [this.share(weight[0], 0), this.share(weight[1], 1)];
		const n = [this.allSamples(0), this.allSamples(1)];
		const part = (samples[0] + samples[1]) / (n[0] + n[1] || 1);
		const sigma = Math.sqrt(part * (1 - part) * (1 / (n[0] || 1) + 1 / (n[1] || 1)));
		const chance = this.data.events[this.event].exact ? 3 : sigma ? Math.abs(share[0] - share[1]) / sigma : 0;
		const least = 0.5 / (n[0] + n[1] || 1);
		const times = Math.log2((share[0] + least) / (share[1] + least));

		return Math.max(-1, Math.min(1, times)) * Math.min(1, (chance / 3) ** 2);
	}
}

/* As lib/estimate/interval.c, but as if each sample were taken by itself: how they follow each other is not in the page, so
 * that the interval of phases is wider than it need be. */
const Z = 1.959963984540054;
const FEW = [0, 0.05129, 0.35536, 0.81769];

function few(k) {
	const i = Math.min(Math.max(Math.floor(k), 0), FEW.length - 1);

	return i < FEW.length - 1 ? FEW[i] + (k - i) * (FEW[i + 1] - FEW[i]) : k > FEW.length - 1 ? k : FEW[i];
}

function lowerEnd(share, n) {
	const z2 = Z * Z, middle = (share + z2 / (2 * n)) / (1 + z2 / n);
	const half = Z / (1 + z2 / n) * Math.sqrt(share * (1 - share) / n + z2 / (4 * n * n));

	return Math.min(Math.max(middle - half, 0), few(share * n) / n, share);
}

/* The larger distance of a share from the ends of its interval. */
function halfOfShare(part, all) {
	const share = part.sum / all.sum, rest = 1 - share;
	const squares = rest * rest * part.squares + share * share * Math.max(0, all.squares - part.squares);
	const n = squares > 0 ? share * rest * all.sum * (all.sum / squares)
		: Math.min(all.sum * (all.sum / all.squares), all.nr);

	return Math.max(share - lowerEnd(share, n), 1 - lowerEnd(rest, n) - share, 0);
}

/* Adds up each node and those below it. */
function addUp(tree, self, total) {
	total.set(self);
	for (let i = tree.nr - 1; i > 0; i--)
		total[tree.parent[i]] += total[i];
}

/*
 * The graph as shown: the tree, or the sampled functions with their callers; with states as frames,
 * or without. A frame's children are made on request, so only visible ones are.
 */
class Frame {
	constructor(of, parent, from, at) {
		this.of = of; /* UINT32_MAX: the root */
		this.parent = parent;
		this.depth = parent ? parent.depth + 1 : 0;
		this.from = from; /* nodes whose samples it contains */
		this.at = at;     /* by callers: the current ancestor of each node; else null */
		this.weight = [0, 0];
		this.samples = [0, 0];
		this.self = [0, 0];
		this.start = 0; /* as a part of the whole width */
		this.width = 1;
		this.inner = null;
		this.states = null;
	}

	get way() {
		const way = [];

		for (let frame = this; frame.parent; frame = frame.parent)
			way.unshift(frame.of);
		return way;
	}
}

class Graph {
	constructor(model, isInverted, side, hasStates) {
		this.model = model;
		/* by callers, what a node stands for */
		this.leaves = isInverted ? { weights: model.self, samples: model.selfSamples } : null;
		this.isInverted = isInverted;
		this.side = side;
		this.hasStates = hasStates;
		this.root = new Frame(0xffffffff, null, [0], null);
		for (let s = 0; s < model.nrSides; s++) {
			this.root.weight[s] = model.all(s);
			this.root.samples[s] = model.allSamples(s);
		}
	}

	children(frame) {
		if (!frame.inner) {
			frame.inner = this.isInverted ? this.callers(frame) : this.callees(frame);
			this.place(frame);
		}
		return frame.inner;
	}

	take(frame, node, weights, samples) {
		for (let s = 0; s < this.model.nrSides; s++) {
			frame.weight[s] += weights[s][node];
			frame.samples[s] += samples[s][node];
		}
	}

	isHidden(node) {
		return !this.hasStates && this.model.data.isState[node] === 1;
	}

	callees(frame) {
		const { model } = this;
		const { tree } = model.data;
		const byFunction = new Map();
		const add = (i) => {
			const child = getChild(byFunction, frame, tree.of[i], null);

			child.from.push(i);
			this.take(child, i, model.total, model.totalSamples);
			for (let s = 0; s < model.nrSides; s++)
				child.self[s] += model.self[s][i];
		};
		const addInner = (node) => {
			for (let i = node + 1; i < tree.end[node]; i = tree.end[i])
				if (this.isHidden(i))
					addInner(i);
				else if (model.totalSamples.some((side) => side[i]))
					add(i);
		};

		frame.from.forEach(addInner);
		return [...byFunction.values()];
	}

	caller(node) {
		const { parent } = this.model.data.tree;
		let at = parent[node];

		while (this.isHidden(at))
			at = parent[at];
		return at;
	}

	callers(frame) {
		const { model, leaves } = this;
		const { tree } = model.data;
		const byFunction = new Map();
		const add = (leaf, at) => {
			if (at <= 0 || !leaves.samples.some((side) => side[leaf]))
				return;

			const child = getChild(byFunction, frame, tree.of[at], []);

			child.from.push(leaf);
			child.at.push(at);
			this.take(child, leaf, leaves.weights, leaves.samples);
		};

		if (frame.at)
			frame.from.forEach((leaf, i) => add(leaf, this.caller(frame.at[i])));
		else
			for (let i = 1; i < tree.nr; i++)
				add(i, this.isHidden(i) ? this.caller(i) : i);

		const list = [...byFunction.values()];

		if (!frame.at)
			list.forEach((child) => { child.self = child.weight; });
		return list.sort((a, b) => b.weight[0] + b.weight[1] - a.weight[0] - a.weight[1]);
	}

	/* The weight of a frame by the function that is its state, the heaviest first. */
	statesOf(frame) {
		const { model, side } = this;
		const { tree, isState, stateOf } = model.data;
		const weights = (this.isInverted && frame.parent ? this.leaves.weights : model.total)[side];
		const byState = new Map();
		const add = (node) => {
			if (weights[node])
				byState.set(stateOf[node], (byState.get(stateOf[node]) || 0) + weights[node]);
		};
		const addInner = (node) => {
			for (let i = node + 1; i < tree.end[node]; i = isState[i] ? tree.end[i] : i + 1)
				if (isState[i])
					add(i);
		};

		frame.from.forEach((node) => (stateOf[node] === 0xffffffff ? addInner(node) : add(node)));
		frame.states = [...byState].sort((a, b) => b[1] - a[1]);
		return frame.states;
	}

	get whole() {
		return this.root.weight[this.side];
	}

	/* The nodes of a frame's samples, and whether those below belong to it. */
	halfOf(frame) {
		return this.model.halfOf(frame.from, !this.isInverted || !frame.parent, this.side);
	}

	place(frame) {
		let start = frame.start;

		for (const child of frame.inner) {
			child.start = start;
			child.width = this.whole ? child.weight[this.side] / this.whole : 0;
			start += child.width;
		}
	}

	/* The frame at this path, or the last one on the path that exists. */
	find(way) {
		let frame = this.root;

		for (const of of way) {
			const next = this.children(frame).find((child) => child.of === of);

			if (!next)
				break;
			frame = next;
		}
		return frame;
	}

	/* The samples of a frame by slice of time. */
	slices(frame) {
		return this.model.slicesOf(frame.from, !this.isInverted || !frame.parent);
	}
}

/* The callers of a function, or what it calls, merged over all places where it is; where it calls itself, its
 * outermost place counts. */
class CallsGraph extends Graph {
	constructor(model, of, isInverted, side, hasStates) {
		const { tree, outermost } = model.data;
		const nodes = [];

		super(model, isInverted, side, hasStates);
		this.leaves = { weights: model.total, samples: model.totalSamples };
		for (let i = 1; i < tree.nr; i++)
			if (tree.of[i] === of && outermost[i] && model.totalSamples.some((list) => list[i]))
				nodes.push(i);
		this.root = new Frame(of, null, nodes, isInverted ? nodes : null);
		nodes.forEach((i) => this.take(this.root, i, model.total, model.totalSamples));
		for (let i = 1; i < tree.nr; i++)
			for (let s = 0; tree.of[i] === of && s < model.nrSides; s++)
				this.root.self[s] += model.self[s][i];
	}

	halfOf(frame) {
		return this.model.halfOf(frame.from, true, this.side);
	}
}

/* The stacks of a thread in the order of time (order.js). */
class OrderGraph extends Graph {
	constructor(model, thread, side, hasStates) {
		const { data } = model;
		const nrSlices = Math.max(1, model.end - model.first);
		const isTime = model.unit === 'ns';

		super(model, false, side, hasStates);
		this.thread = thread;
		this.isTime = isTime;
		this.nrSlices = nrSlices;
		this.root = this.frameOf(orderOf(model.itemsOf(thread, side, hasStates),
			{ nrSlices, sliceNs: data.slice_ns, isTime }), null);
	}

	frameOf(timed, parent) {
		const frame = new Frame(parent ? timed.of : 0xffffffff, parent, [], null);

		frame.timed = timed;
		frame.start = timed.start / this.nrSlices;
		frame.width = (timed.end - timed.start) / this.nrSlices;
		for (const name of ['weight', 'samples', 'self'])
			frame[name][this.side] = timed[name];
		return frame;
	}

	children(frame) {
		frame.inner = frame.inner || frame.timed.inner.map((timed) => this.frameOf(timed, frame));
		return frame.inner;
	}

	/* Frames of another selection are others. */
	find() {
		return this.root;
	}

	halfOf() {
		return null;
	}

	/* Of all; frames are not divided. */
	statesOf(frame) {
		return frame.parent ? [] : new Graph(this.model, false, this.side, true).statesOf(new Frame(ROOT, null, [0], null));
	}

	/* When it was, since the session's start. */
	timesOf(frame) {
		const at = (slice) => this.model.data.start_ns + (this.model.first + slice) * this.model.data.slice_ns;

		return [at(frame.timed.start), at(frame.timed.end)];
	}

	slices(frame) {
		const { data } = this.model;
		const all = new Float64Array(data.nr_slices);
		const ofThread = this.model.slicesOf([0], true);
		const from = this.model.first + Math.floor(frame.timed.start), to = this.model.first + Math.ceil(frame.timed.end);
		const lane = data.lanes.of[this.thread];
		const part = (values) => all.map((x, i) => (i >= from && i < to ? values[i] : 0));

		return { all: part(lane >= 0 ? ofThread.lanes[lane] : data.lanes.names.length ? all : ofThread.all), lanes: ofThread.lanes.map((values, i) => (i === lane ? part(values) : all)) };
	}
}

function getChild(byFunction, parent, of, at) {
	let child = byFunction.get(of);

	if (!child)
		byFunction.set(of, child = new Frame(of, parent, [], at ? [] : null));
	return child;
}
