"use strict";

// Searches, sorts and shows the captions of a page. Text from files is inserted only as text, never as HTML.
(() => {
  const root = document.getElementById("captions");
  const data = JSON.parse(document.getElementById("captions-data").textContent);
  const form = root.querySelector("form");
  const list = root.querySelector(".cards");
  const PAGE = 20, LONGEST_SHOWN = 2000, ORDERS = [4, 3, 2, 1];
  // The position of each image's first reference among all references.
  const starts = [];
  data.references.reduce((start, texts) => (starts.push(start), start + texts.length), 0);
  // The query, if the server already searched, sorted and filtered; the images are then one page of results.
  const served = data.served;
  let asked = {}, found = [], page = 0;

  function element(name, attributes, ...children) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  }

  // Scores are integers, scaled by data.scale; null is a missing score.

  function score(system, name, image) {
    const value = data.values[system][name][image];
    return value === null ? NaN : value / data.scale;
  }

  function sortValue(image) {
    const { system, other, score: name } = asked;
    const value = score(system, name, image);
    return other < 0 ? value : value - score(other, name, image);
  }

  const shown = (value) => (Number.isNaN(value) ? "\u2013" : value.toFixed(3));
  const signed = (value) => (value > 0 ? "+" : "") + shown(value).replace("-", "\u2212");

  // Tokens with their positions in the text. For most captions this pattern gives the same tokens as capeval; the
  // data contain the tokens of the others.

  function tokensOf(text, stored) {
    if (stored !== undefined) return placed(text, stored === "" ? [] : stored.split(" "));
    return Array.from(text.matchAll(/[A-Za-z0-9'-]+/g), (match) => ({
      text: match[0].toLowerCase(), start: match.index, end: match.index + match[0].length,
    }));
  }

  function placed(text, words) {
    // The few capital letters that are longer in lower case stay, so that positions are valid in the text.
    const lower = Array.from(text, (letter) => {
      const made = letter.toLowerCase();
      return made.length === letter.length ? made : letter;
    }).join("");
    const tokens = words.map((word) => ({ text: word, start: -1, end: -1 }));
    let end = 0, last = -1;
    tokens.forEach((token, position) => {
      const word = token.text.toLowerCase();
      const start = lower.indexOf(word, end);
      const next = position === last + 1;
      // There is no other word between two tokens, unless the previous token was changed by the tokenizer.
      if (start < 0 || (next && /[\p{L}\p{N}]/u.test(lower.slice(end, start)))) return;
      if (position === last + 2) fill(text, tokens[position - 1], end, start);
      [token.start, token.end] = [start, start + word.length];
      [end, last] = [token.end, position];
    });
    if (last === tokens.length - 2) fill(text, tokens[tokens.length - 1], end, text.length);
    return tokens;
  }

  // A single token that the tokenizer changed, such as "-lrb-", covers the text between its neighbors.
  function fill(text, token, start, end) {
    const between = text.slice(start, end), inside = between.trim();
    if (inside) {
      token.start = start + between.indexOf(inside);
      token.end = token.start + inside.length;
    }
  }

  function grams(lists) {
    const all = new Set();
    for (const tokens of lists) {
      for (const n of ORDERS) {
        for (let at = 0; at + n <= tokens.length; at++) all.add(gram(tokens, at, n));
      }
    }
    return all;
  }

  const gram = (tokens, at, n) => tokens.slice(at, at + n).map((token) => token.text).join(" ");

  // The length of the longest matched n-gram that contains each token.
  function levels(tokens, known) {
    const made = new Array(tokens.length).fill(0);
    for (const n of ORDERS) {
      for (let at = 0; at + n <= tokens.length; at++) {
        if (!known.has(gram(tokens, at, n))) continue;
        for (let place = at; place < at + n; place++) made[place] = made[place] || n;
      }
    }
    return made;
  }

  // The objects of an image, with the positions of the tokens that mention them.

  function mentions(image, tokens) {
    if (!data.constraints) return [];
    return data.constraints.of[image].map((at) => ({
      name: data.constraints.names[at],
      places: data.constraints.phrases[at].flatMap((phrase) => placesOf(phrase.split(" "), tokens)),
    }));
  }

  function placesOf(words, tokens) {
    const places = [];
    for (let at = 0; at + words.length <= tokens.length; at++) {
      if (words.every((word, place) => tokens[at + place].text === word)) {
        words.forEach((_, place) => places.push(at + place));
      }
    }
    return places;
  }

  const tokensSaid = (system, image) =>
    tokensOf(data.candidates[system][image], data.tokens[system + 1][image]);

  function marked(text, tokens, known, mentioned = new Set()) {
    if (!text.trim()) return [element("span", { class: "empty" }, "no caption")];
    const limit = text.length > LONGEST_SHOWN ? LONGEST_SHOWN : text.length;
    const level = levels(tokens, known), parts = [];
    let end = 0;
    const kind = (at) => `n${level[at]}${mentioned.has(at) ? " mentioned" : ""}`;
    for (let at = 0; at < tokens.length; at++) {
      if (kind(at) === "n0" || tokens[at].start < 0) continue;
      let last = at;
      while (last + 1 < tokens.length && kind(last + 1) === kind(at) && tokens[last + 1].start >= 0) last++;
      if (tokens[last].end > limit) break;
      parts.push(text.slice(end, tokens[at].start));
      parts.push(element("mark", { class: kind(at) }, text.slice(tokens[at].start, tokens[last].end)));
      end = tokens[last].end;
      at = last;
    }
    parts.push(text.slice(end, limit));
    if (limit < text.length) parts.push(`\u2026 (${text.length.toLocaleString("en")} characters)`);
    return parts;
  }

  // The card of an image.

  function card(image, place) {
    const { system } = asked;
    const references = data.references[image].map((text, at) =>
      [text, tokensOf(text, data.tokens[0][starts[image] + at])]);
    const candidates = data.systems.map((_, of) => tokensSaid(of, image));
    const known = grams(references.map(([, tokens]) => tokens));
    const said = grams([candidates[system]]);
    const label = `Image ${data.ids[image]}`;
    const classes = data.systems.length > 2 ? "card many" : "card";
    return element("article", { class: classes, "aria-label": label, tabindex: place ? "-1" : "0" },
      element("h3", {}, element("span", {}, "Image ", element("bdi", {}, String(data.ids[image]))),
        ...domain(image), ...difference(image), ...choice(image)),
      ...picture(image, label),
      element("div", { class: "said" },
        ...data.systems.map((_, of) => saidBy(of, image, candidates[of], known))),
      ...(references.length ? [element("div", { class: "known" }, element("h4", {}, "References"),
        element("ul", {}, ...references.map(([text, tokens]) =>
          element("li", { dir: "auto" }, ...marked(text, tokens, said)))))] : []));
  }

  function saidBy(system, image, tokens, known) {
    const found = mentions(image, tokens);
    const mentioned = new Set(found.flatMap((each) => each.places));
    const name = data.systems.length > 1 ? [element("h4", {}, element("bdi", {}, data.systems[system]))] : [];
    const objects = found.map((each) => element("li", each.places.length ? { class: "there" } : {},
      each.places.length ? "\u2713 " : "\u2717 ", element("bdi", {}, each.name)));
    return element("div", {}, ...name,
      element("p", { dir: "auto", class: "caption" },
        ...marked(data.candidates[system][image], tokens, known, mentioned)),
      ...(objects.length ? [element("ul", { class: "objects", "aria-label": "Objects to mention" }, ...objects)] : []),
      scores(system, image));
  }

  function domain(image) {
    const at = data.domains ? data.domains.of[image] : -1;
    return at < 0 ? [] : [element("span", {}, element("bdi", {}, data.domains.names[at]))];
  }

  // Chosen images, for a figure. Their ids are in a hidden field, so that a reload or a saved link keeps them.

  const listed = () => form.elements.chosen.value.split(",").filter(Boolean);

  function choice(image) {
    if (served) return [];
    const id = String(data.ids[image]);
    const box = element("input", { type: "checkbox" });
    box.checked = listed().includes(id);
    box.addEventListener("change", () => {
      const others = listed().filter((each) => each !== id);
      form.elements.chosen.value = (box.checked ? [...others, id] : others).join(",");
      showChosen();
      keep();
    });
    return [element("label", { class: "choice" }, box, " Choose")];
  }

  function showChosen() {
    const line = root.querySelector(".chosen"), ids = listed();
    line.hidden = ids.length === 0;
    line.querySelector("code").textContent = `--choose ${ids.join(",")}`;
  }

  function difference(image) {
    const { system, other, score: name } = asked;
    if (other < 0) return [];
    const names = [data.systems[system], " \u2212 ", data.systems[other]];
    return [element("span", { class: "difference" }, `${data.scores[name]} `, ...names.map((each) =>
      element("bdi", {}, each)), ` ${signed(sortValue(image))}`)];
  }

  function scores(system, image) {
    const list = element("dl", {});
    data.scores.forEach((name, at) => {
      const sorted = at === asked.score && (system === asked.system || system === asked.other);
      list.append(element("div", sorted ? { class: "sorted" } : {},
        element("dt", {}, name), element("dd", {}, shown(score(system, at, image)))));
    });
    return list;
  }

  function picture(image, label) {
    if (!data.pictures) return [];
    const middle = data.pictures.middles[image];
    const absent = () => element("p", { class: "picture empty" }, "no image");
    if (middle === null) return [absent()];
    const address = data.pictures.before + middle + data.pictures.after;
    const made = element("img", { class: "picture", src: address, alt: label, loading: "lazy",
      decoding: "async", referrerpolicy: "no-referrer" });
    made.addEventListener("error", () => made.replaceWith(absent()));
    return [made];
  }

  // The query and its results.

  const haystacks = {};

  function haystack(where) {
    haystacks[where] ??= data.ids.map((id, image) => [
      where === "references" ? "" : data.candidates.map((texts) => texts[image]).join("\n"),
      where === "candidates" ? "" : data.references[image].join("\n"),
      where ? "" : id,
    ].join("\n").toLowerCase());
    return haystacks[where];
  }

  function chosen() {
    const field = (name) => form.elements[name];
    const value = (name) => (field(name) ? field(name).value : "");
    const number = (name, none) => (value(name).trim() === "" ? none : Number(value(name)));
    const other = field("other") && field("other").value !== "" ? Number(field("other").value) : -1;
    return {
      search: field("search").value, where: field("where").value, order: field("order").value,
      score: Number(field("score").value), other,
      system: field("system") ? Number(field("system").value) : 0,
      domain: value("domain"), object: value("object"), mentioned: value("mentioned"),
      least: number("least", -Infinity), most: number("most", Infinity),
    };
  }

  // Whether an image matches all filters except the search.
  function passes(image) {
    const { domain: wanted, object, mentioned, system, least, most } = asked;
    if (wanted !== "" && data.domains.of[image] !== Number(wanted)) return false;
    if (object !== "" && !data.constraints.of[image].some((at) => data.constraints.names[at] === object)) return false;
    if (least > -Infinity || most < Infinity) {
      // Rounded like the displayed score. An image without a score is outside every range.
      const value = Number(sortValue(image).toFixed(3));
      if (!(value >= least && value <= most)) return false;
    }
    if (!mentioned) return true;
    const found = mentions(image, tokensSaid(system, image));
    return found.length > 0 && found.every((each) => each.places.length) === (mentioned === "all");
  }

  function find() {
    if (served) {
      asked = served;
      found = data.ids.map((_, image) => image);
      return;
    }
    asked = chosen();
    const { search, where, order } = asked;
    const wanted = Array.from(search.toLowerCase().matchAll(/"([^"]+)"?|[^\s"]+/g), (match) => match[1] ?? match[0]);
    const texts = haystack(where);
    found = data.ids.map((_, image) => image)
      .filter((image) => wanted.every((words) => texts[image].includes(words)) && passes(image));
    if (order === "file") return;
    const values = data.ids.map((_, image) => sortValue(image)), sign = order === "lowest" ? 1 : -1;
    // Images without a score come last in both orders.
    found.sort((a, b) => Number.isNaN(values[a]) - Number.isNaN(values[b]) ||
      sign * (values[a] - values[b]) || a - b);
  }

  function show() {
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(Math.max(page, 0), pages - 1);
    const first = page * PAGE, images = found.slice(first, first + PAGE);
    list.replaceChildren(...images.map(card));
    if (served) return;
    const count = found.length.toLocaleString("en");
    const range = `${(first + 1).toLocaleString("en")}\u2013${(first + images.length).toLocaleString("en")}`;
    root.querySelector("[role=status]").textContent =
      found.length ? `Images ${range} of ${count}` : "No images match the filters.";
    root.lastElementChild.hidden = pages === 1;
    for (const button of root.querySelectorAll("[data-step]")) {
      const target = page + Number(button.dataset.step);
      button.setAttribute("aria-disabled", String(target < 0 || target >= pages));
    }
  }

  function turn(step) {
    if (served) {
      const link = root.querySelector(`a[data-step="${step}"]`);
      if (link) location.assign(`${link.href}#images`);
      return false;
    }
    const before = page;
    page += step;
    show();
    return page !== before;
  }

  function ask() {
    page = 0;
    find();
    show();
    keep();
  }

  // So that a reload or a saved link shows the same results.
  function keep() {
    history.replaceState(null, "", `#captions?${new URLSearchParams(new FormData(form))}`);
  }

  function recall() {
    const [, kept] = location.hash.split("?");
    for (const [name, value] of new URLSearchParams(kept ?? "")) {
      const field = form.elements[name];
      if (field && (field.tagName === "INPUT" || Array.from(field.options).some((each) => each.value === value))) {
        field.value = value;
      }
    }
  }

  // Keys in the list: up and down move between images, left and right between pages.
  function move(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const cards = Array.from(list.children), at = cards.indexOf(document.activeElement);
    const steps = { ArrowDown: 1, ArrowUp: -1 }, turns = { ArrowRight: 1, ArrowLeft: -1 };
    if (at < 0 || !(event.key in steps || event.key in turns)) return;
    event.preventDefault();
    let target = at + (steps[event.key] ?? 0);
    if (event.key in turns) {
      if (turn(turns[event.key])) target = 0;
    } else if (target >= cards.length) {
      target = turn(1) ? 0 : at;
    } else if (target < 0) {
      target = turn(-1) ? PAGE - 1 : at;
    }
    focus(Array.from(list.children)[target]);
  }

  function focus(card) {
    for (const each of list.children) each.tabIndex = each === card ? 0 : -1;
    card.focus();
    card.scrollIntoView({ block: "nearest" });
  }

  list.addEventListener("keydown", move);
  if (!served) {
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("input", ask);
    for (const button of root.querySelectorAll("[data-step]")) {
      button.addEventListener("click", () => {
        if (turn(Number(button.dataset.step))) root.querySelector(".controls").scrollIntoView({ block: "start" });
      });
    }
    recall();
    showChosen();
  }
  find();
  show();
  root.hidden = false;
  if (served && location.hash === "#images" && list.firstElementChild) focus(list.firstElementChild);
})();
