/* Sections that have all words; those that have them in their heading first. The index is a script, since a page of a
 * file may not fetch anything. */
(function () {
	const input = document.getElementById("search"), found = document.getElementById("found");
	const MOST = 12, AROUND = 60;

	function excerpt(text, word) {
		const at = Math.max(0, text.toLowerCase().indexOf(word) - AROUND);
		return text.slice(at, at + 3 * AROUND);
	}

	function look() {
		const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
		found.textContent = "";
		if (!words.length)
			return;
		const has = text => words.filter(word => text.toLowerCase().includes(word)).length;
		manual_index.map(s => [has(s.title) * 2 + has(s.page), s])
			.filter(([, s]) => has(s.page + " " + s.title + " " + s.text) === words.length)
			.sort((a, b) => b[0] - a[0]).slice(0, MOST).forEach(([, s]) => {
				const row = document.createElement("li"), link = document.createElement("a");
				const text = document.createElement("small");
				link.href = s.at;
				link.textContent = s.title === s.page ? s.title : s.page + ": " + s.title;
				text.textContent = excerpt(s.text, words[0]);
				row.append(link, text);
				found.append(row);
			});
		if (!found.children.length)
			found.append(Object.assign(document.createElement("li"), { textContent: "nothing has all of these words" }));
	}

	input.addEventListener("input", look);
	document.addEventListener("keydown", e => {
		if (e.key === "/" && document.activeElement !== input) {
			e.preventDefault();
			input.focus();
		}
	});
	if (location.hash.startsWith("#search=")) {
		input.value = decodeURIComponent(location.hash.slice(8));
		look();
	}
})();
