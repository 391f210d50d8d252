/*
 * Stacks in the order of time: x is time, and frames are merged only with their neighbours. What is known
 * is how much of each stack was in a slice of time, not in which order: within a slice what goes on from
 * the slice before comes first, and what goes on in the next one last. Knows nothing of the page.
 */
const NEAR_FULL = 0.1; /* of a slice: less is not a gap, but chance */

/* By slice, the entries of items: {slice, way: ids of functions, the outermost first, samples, weight}. */
function entriesBySlice(items, nrSlices) {
	const slices = Array.from({ length: nrSlices }, () => []);

	for (const item of items)
		slices[Math.max(0, Math.min(nrSlices - 1, item.slice))].push({ ...item, size: item.weight });
	return slices;
}

/* A sample stands for the time before it: what has no room in its slice was in those before, long waits
 * first. What would be before the first slice stays there. */
function spreadOverTime(slices, sliceNs) {
	const open = []; /* the next one last: short before long, later before earlier */

	for (let at = slices.length - 1; at >= 0; at--) {
		const kept = [];
		let room = sliceNs;

		slices[at].sort((a, b) => b.weight / b.samples - a.weight / a.samples).forEach((entry) => open.push(entry));
		while (open.length && (room > 0 || at === 0)) {
			const entry = open.pop();
			const part = at === 0 ? entry.weight : Math.min(entry.weight, room);

			if (part > 0)
				kept.push({ ...entry, slice: at, weight: part, size: part });
			if (entry.weight > part)
				open.push({ ...entry, samples: 0, weight: entry.weight - part });
			room -= part;
		}
		slices[at] = kept;
	}
	return slices;
}

/* The stacks of a slice as a tree of maps, with their sizes. */
function treeOfEntries(entries) {
	const root = { size: 0, inner: new Map() };

	for (const entry of entries) {
		let at = root;

		for (const id of entry.way) {
			if (!at.inner.has(id))
				at.inner.set(id, { size: 0, inner: new Map() });
			at = at.inner.get(id);
			at.size += entry.size;
		}
	}
	return root;
}

/* Entries in the order in which they are drawn. before: the way at the end of the slice before, or null;
 * next: the tree of the one after, or null. */
function arrange(entries, depth, before, next) {
	const groups = new Map();

	if (entries.length < 2)
		return entries;
	for (const entry of entries) {
		const id = depth < entry.way.length ? entry.way[depth] : -1;

		if (groups.has(id))
			groups.get(id).push(entry);
		else
			groups.set(id, [entry]);
	}

	const first = before && groups.has(before[depth]) ? before[depth] : undefined;
	let last, size = 0;

	for (const id of groups.keys())
		if (next && next.inner.has(id) && (id !== first || groups.size === 1) && next.inner.get(id).size > size)
			[last, size] = [id, next.inner.get(id).size];

	const rest = [...groups.keys()].filter((id) => id !== first && id !== last);
	const order = first === last ? [first, ...rest] : [first, ...rest, last];

	return order.filter((id) => groups.has(id)).flatMap((id) => (id === -1 ? groups.get(id)
		: arrange(groups.get(id), depth + 1, id === first ? before : null, id === last ? next.inner.get(id) : null)));
}

function lengthOfPrefix(a, b) {
	let nr = 0;

	while (nr < a.length && nr < b.length && a[nr] === b[nr])
		nr++;
	return nr;
}

/* Widths in slices; a gap of what was not sampled stands where it divides nothing that goes on. */
function placeEntries(entries, slice, sliceNs, isTime, goesOn, place) {
	const sum = entries.reduce((all, entry) => all + entry.size, 0);
	const isFull = !isTime || sum > sliceNs * (1 - NEAR_FULL);
	const scale = isFull ? 1 / (sum || 1) : 1 / sliceNs;
	const gap = isFull ? 0 : 1 - sum / sliceNs;
	let at = slice;

	entries.forEach((entry, i) => {
		if (i === entries.length - 1) {
			at += goesOn ? gap : 0;
			place(entry, at, isFull || goesOn ? slice + 1 : at + entry.size * scale);
		} else {
			place(entry, at, at + entry.size * scale);
		}
		at += entry.size * scale;
	});
}

function addTo(frame, entry, end, isLeaf) {
	frame.end = end;
	frame.weight += entry.weight;
	frame.samples += entry.samples;
	frame.self += isLeaf ? entry.weight : 0;
}

/*
 * The root of frames {of, start, end (in slices), weight, samples, self, inner}, of items as above, all of one
 * thread. isTime: weights are ns, so that what is missing of a slice is a gap; else each slice is filled.
 * Sums are those of the items.
 */
function orderOf(items, { nrSlices, sliceNs, isTime }) {
	const slices = entriesBySlice(items, nrSlices);
	const root = { of: -1, start: 0, end: nrSlices, weight: 0, samples: 0, self: 0, inner: [] };
	const trees = (isTime ? spreadOverTime(slices, sliceNs) : slices).map(treeOfEntries);
	let open = [], way = [], reached = 0; /* the frames of the last stack, and where it ended */

	const place = (entry, start, end) => {
		const same = Math.abs(start - reached) < 1e-6 ? lengthOfPrefix(way, entry.way) : 0;

		open.length = same;
		for (let depth = same; depth < entry.way.length; depth++) {
			const frame = { of: entry.way[depth], start, end, weight: 0, samples: 0, self: 0, inner: [] };

			(depth ? open[depth - 1] : root).inner.push(frame);
			open.push(frame);
		}
		open.forEach((frame, depth) => addTo(frame, entry, end, depth === entry.way.length - 1));
		[way, reached] = [entry.way, end];
		root.weight += entry.weight;
		root.samples += entry.samples;
	};

	slices.forEach((entries, slice) => {
		const before = Math.abs(slice - reached) < 1e-6 ? way : null;
		const sorted = arrange(entries, 0, before, trees[slice + 1] || null);
		const last = sorted[sorted.length - 1];

		if (last)
			placeEntries(sorted, slice, sliceNs, isTime,
				(sorted.length > 1 || !before || before[0] !== last.way[0]) && !!trees[slice + 1] &&
				trees[slice + 1].inner.has(last.way[0]), place);
	});
	return root;
}
