// The page on which people answer: one item at a time, and nothing that was typed is lost. What is typed is kept
// in the browser at once and on the server a moment later; an answer is sent again until the server has it.
// Choices have single keys, which can be changed or switched off, and an answer can be taken back within the batch.
(() => {
  const work = document.getElementById("work");
  if (!work) return;
  const items = [...work.querySelectorAll(".item")];
  const DRAFT_AFTER = 1000;
  const CHECK_AFTER = 300;
  const LONGEST_PAUSE = 15000;
  const LONGEST_WAIT = 60000;
  let at = 0;

  // Browsers may refuse to keep anything.
  const kept = {
    get: (name) => { try { return localStorage.getItem(name); } catch { return null; } },
    set: (name, text) => { try { localStorage.setItem(name, text); } catch { /* The page still has it. */ } },
    remove: (name) => { try { localStorage.removeItem(name); } catch { /* There is nothing then. */ } },
  };

  const show = (index, focus) => {
    at = Math.max(0, Math.min(index, items.length - 1));
    items.forEach((item, number) => { item.hidden = number !== at; });
    items[at].querySelector(".previous").disabled = at === 0;
    items[at].querySelector(".next").disabled = at === items.length - 1;
    // Where a choice is made by a key, no field has the focus, and a screen reader says which item it is.
    if (focus) (items[at].querySelector("textarea") || items[at]).focus();
  };

  const finished = document.getElementById("finished");
  const undo = document.getElementById("undo");
  const answered = [];

  const finish = () => {
    if (!finished) { location.assign(work.dataset.next); return; }
    work.hidden = true;
    finished.hidden = false;
    finished.focus();
  };

  const takeBack = () => {
    const item = answered.pop();
    if (!item) return;
    item.classList.remove("done");
    item.querySelectorAll("input[type=radio]").forEach((radio) => { radio.checked = false; });
    item.querySelector(".outcome").textContent = "Your answer stands until you send another.";
    work.hidden = false;
    finished.hidden = true;
    undo.disabled = answered.length === 0;
    show(items.indexOf(item), true);
  };

  const open = () => items.findIndex((item) => !item.classList.contains("done"));

  // A connection that was lost without a word, as while a laptop slept, would be waited for without end. What the
  // server got all the same is the same answer when it is sent again.
  const post = (address, body) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), LONGEST_WAIT);
    return fetch(address, {
      method: "POST", body, headers: { Accept: "application/json" }, credentials: "same-origin", signal: stop.signal,
    });
  };

  // Activity renews the leases of all items of the page: at most each 30 s, less often where leases are long, and
  // more often only where they last less than a minute. Activity since the latest renewal has one sent at the end of
  // that time, so a lease never ends sooner after the last activity than it lasts.
  const LEASE = 1000 * Number(work.dataset.lease);
  const RENEW_AFTER = Math.min(Math.max(30000, LEASE / 3), LEASE / 2);
  const csrfToken = work.querySelector("[name=csrfmiddlewaretoken]").value;
  let renewed = Date.now();
  let renewal = 0;

  const noteRenewal = () => {
    renewed = Date.now();
    clearTimeout(renewal);
    renewal = 0;
  };

  const renew = () => {
    noteRenewal();
    // A renewal that fails is made up for by the next one.
    if (open() >= 0) post(work.dataset.renew, new URLSearchParams({ csrfmiddlewaretoken: csrfToken })).catch(() => {});
  };

  const noteActivity = () => {
    renewal = renewal || setTimeout(renew, Math.max(0, renewed + RENEW_AFTER - Date.now()));
  };

  for (const kind of ["keydown", "input", "click", "pointerdown", "pointermove", "wheel"]) {
    document.addEventListener(kind, noteActivity, { capture: true, passive: true });
  }

  const setUp = (item) => {
    const name = `annotate-${item.dataset.lease}`;
    const form = item.querySelector("form.answer");
    const field = form.querySelector("textarea");
    const outcome = form.querySelector(".outcome");
    const button = form.querySelector("button");
    const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
    const counts = { seconds: 0, keys: 0, pastes: 0, pasted: 0 };
    const began = Date.now();
    let draft = 0;
    let check = 0;
    let sending = false;

    const say = (text, bad) => { outcome.textContent = text; outcome.classList.toggle("bad", Boolean(bad)); };

    // What the rules say; where one asks, a field for the reason why the sentence is kept.
    const keep = form.querySelector(".keep");
    const clean = form.querySelector(".clean");
    const tell = (findings) => {
      const list = form.querySelector(".findings");
      list.replaceChildren(...findings.map((finding) => {
        const line = document.createElement("li");
        line.className = finding.level;
        line.textContent = finding.message;
        return line;
      }));
      const levels = findings.map((finding) => finding.level);
      clean.hidden = !findings.some((finding) => finding.rule === "invisible");
      // What is blocked can't be kept: it is to be changed first.
      keep.hidden = levels.includes("block") || !levels.includes("confirm");
    };

    if (field) {
      const count = form.querySelector(".count");
      const words = (number) => { count.textContent = `${number} ${number === 1 ? "word" : "words"}`; };
      keep.hidden = true;
      const look = (text) => post(item.dataset.check, new URLSearchParams({ caption: text, csrfmiddlewaretoken: token }));
      const ask = async () => {
        const text = field.value;
        try {
          const answer = await look(text);
          const found = answer.ok ? await answer.json() : null;
          // What came meanwhile is asked about by itself.
          if (!found || field.value !== text) return;
          if (text.length <= field.maxLength) words(found.words);
          tell(found.findings);
        } catch { /* The server decides when the sentence is sent. */ }
      };
      // The writer sees the cleaned sentence before it is sent.
      clean.addEventListener("click", async (event) => {
        event.preventDefault();
        const text = field.value;
        const answer = await look(text).catch(() => null);
        const found = answer?.ok ? await answer.json().catch(() => null) : null;
        if (!found) {
          say("Invisible characters were not removed: the server can't be reached. Please try again.", true);
          return;
        }
        if (found.cleaned === null || field.value !== text) return;
        field.value = found.cleaned;
        field.dispatchEvent(new Event("input"));
        say("Invisible characters were removed. Please read the sentence again, then submit it.");
        field.focus();
      });
      const earlier = kept.get(name);
      if (earlier !== null) field.value = earlier;
      words(countWords(field.value));
      if (field.value) ask();
      field.addEventListener("keydown", (event) => {
        counts.keys += 1;
        if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
          event.preventDefault();
          form.requestSubmit();
        }
      });
      field.addEventListener("paste", (event) => {
        counts.pastes += 1;
        counts.pasted += (event.clipboardData?.getData("text") || "").length;
      });
      field.addEventListener("input", () => {
        words(countWords(field.value));
        kept.set(name, field.value);
        clearTimeout(draft);
        clearTimeout(check);
        if (field.value.trim()) check = setTimeout(ask, CHECK_AFTER);
        else tell([]);
        draft = setTimeout(() => {
          const body = new URLSearchParams({ caption: field.value, csrfmiddlewaretoken: token });
          // Where this fails, the browser has the text, and the next draft is sent.
          post(item.dataset.draft, body).then((answer) => { if (answer.ok) noteRenewal(); }).catch(() => {});
        }, DRAFT_AFTER);
      });
    }

    const done = (found) => {
      noteRenewal();
      kept.remove(name);
      clearTimeout(check);
      item.classList.add("done");
      say(found.text);
      form.querySelector("[name=revision]").value = String(found.revision + 1);
      if (undo) {
        answered.push(item);
        undo.disabled = false;
      }
      const next = open();
      if (next < 0) finish();
      else show(next, true);
    };

    const send = async (body, pause) => {
      try {
        const answer = await post(form.action, body);
        if (answer.status < 500) {
          const found = await answer.json().catch(() => null);
          sending = false;
          button.disabled = false;
          if (answer.ok && found) done(found);
          else if (found) {
            say(`Not stored: ${found.detail}.`, true);
            if (found.findings) {
              tell(found.findings);
              (keep.hidden ? field : keep.querySelector("input")).focus();
            }
          }
          else say("Not stored: this page is out of date. Your text is kept: please load the page again.", true);
          return;
        }
      } catch { /* No connection: below, as for a server that is away. */ }
      say("Not sent yet: the server can't be reached. Your answer is kept here and sent again by itself.", true);
      setTimeout(() => send(body, Math.min(2 * pause, LONGEST_PAUSE)), pause);
    };

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (sending) return;
      clearTimeout(draft);
      sending = true;
      button.disabled = true;
      counts.seconds = Math.round((Date.now() - began) / 1000);
      const body = new URLSearchParams(new FormData(form));
      body.set("events", JSON.stringify(counts));
      say("Sending.");
      send(body, 1000);
    });

    for (const [kind, step] of [["previous", -1], ["next", 1]]) {
      const turn = item.querySelector(`.${kind}`);
      turn.hidden = items.length === 1;
      turn.removeAttribute("accesskey");
      turn.addEventListener("click", () => show(at + step, true));
    }
  };

  items.forEach(setUp);
  if (undo) {
    undo.hidden = false;
    undo.addEventListener("click", takeBack);
  }

  // The single keys: each choice's, and the last one for undoing.
  const fields = [...document.querySelectorAll(".keys .key")];
  const switched = document.getElementById("keys-on");
  const keysKept = `annotate-keys-${work.dataset.kind}`;
  if (switched) {
    try {
      const earlier = JSON.parse(kept.get(keysKept) || "null");
      if (earlier) {
        switched.checked = earlier.on;
        fields.forEach((field, place) => { field.value = earlier.keys[place] || ""; });
      }
    } catch { /* What was kept is of another form: the keys stay as they are. */ }
    const keep = () => kept.set(
      keysKept, JSON.stringify({ on: switched.checked, keys: fields.map((field) => field.value) }),
    );
    [switched, ...fields].forEach((field) => field.addEventListener("change", keep));
  }

  const byKey = (event) => {
    if (!switched?.checked || event.repeat || event.shiftKey || event.isComposing) return;
    if (event.target.closest("input, textarea, select, button, a, summary")) return;
    const place = fields.findIndex((field) => field.value && field.value.toLowerCase() === event.key.toLowerCase());
    if (place < 0) return;
    event.preventDefault();
    if (place === fields.length - 1) takeBack();
    else if (work.hidden) location.assign(work.dataset.next);
    else {
      const radio = items[at].querySelector(`input[type=radio][data-place="${place}"]`);
      if (items[at].classList.contains("done")) return;
      radio.checked = true;
      radio.form.requestSubmit();
    }
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    if (!event.altKey) { byKey(event); return; }
    const step = { KeyK: -1, KeyL: 1 }[event.code];
    if (!step) return;
    event.preventDefault();
    show(at + step, true);
  });
  show(0, false);
  if (switched) items[0].focus({ preventScroll: true });
})();
