// The work page: shows one item at a time, and never loses typed text. Text is saved in the browser at once and on
// the server a moment later. Answers are sent again until the server confirms them. Choices have single-key
// shortcuts, which can be changed or disabled, and an answer can be undone within its batch.
(() => {
  const work = document.getElementById("work");
  if (!work) return;
  const items = [...work.querySelectorAll(".item")];
  const DRAFT_AFTER = 1000;
  const CHECK_AFTER = 300;
  const LONGEST_PAUSE = 15000;
  const LONGEST_WAIT = 60000;
  let at = 0;

  // Browsers may refuse access to the storage.
  const kept = {
    get: (name) => { try { return localStorage.getItem(name); } catch { return null; } },
    set: (name, text) => { try { localStorage.setItem(name, text); } catch { /* The page still contains the text. */ } },
    remove: (name) => { try { localStorage.removeItem(name); } catch { /* Nothing is stored then. */ } },
  };

  const show = (index, focus) => {
    at = Math.max(0, Math.min(index, items.length - 1));
    items.forEach((item, number) => { item.hidden = number !== at; });
    items[at].querySelector(".previous").disabled = at === 0;
    items[at].querySelector(".next").disabled = at === items.length - 1;
    // Shortcuts work only without a focused field. Focusing the item makes screen readers announce it.
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
    item.querySelector(".outcome").textContent = "Your answer is kept until you submit a new one.";
    work.hidden = false;
    finished.hidden = true;
    undo.disabled = answered.length === 0;
    show(items.indexOf(item), true);
  };

  const open = () => items.findIndex((item) => !item.classList.contains("done"));

  // Without a timeout, a connection that was lost silently, for example while a laptop slept, would be awaited
  // forever. Sending an answer again is safe: it has an idempotency key.
  const post = (address, body) => {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), LONGEST_WAIT);
    return fetch(address, {
      method: "POST", body, headers: { Accept: "application/json" }, credentials: "same-origin", signal: stop.signal,
    });
  };

  // Activity renews the leases of all items on the page: at most every 30 s, less often if leases are long, and more
  // often only if they last less than a minute. Activity since the latest renewal triggers a renewal at the end of
  // the interval, so a lease never expires sooner than its full duration after the last activity.
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
    // The next renewal makes up for a failed one.
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

    // Shows the findings of the rules and, if a rule requires one, the field for the reason to keep the sentence.
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
      // A sentence that breaks a blocking rule must be changed, so a reason does not help.
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
          // Text that was typed meanwhile gets its own check.
          if (!found || field.value !== text) return;
          if (text.length <= field.maxLength) words(found.words);
          tell(found.findings);
        } catch { /* The server checks again when the sentence is submitted. */ }
      };
      // The worker sees the cleaned sentence before it is submitted.
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
          // If this fails, the browser still has the text, and the next draft is sent.
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
          else say("Not stored: this page is out of date. Your text is saved: please reload the page.", true);
          return;
        }
      } catch { /* No connection: handled below, like server errors. */ }
      say("Not sent yet: the server can't be reached. Your answer is saved here and will be sent again automatically.", true);
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

  // The shortcuts: one per choice, and the last one for undo.
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
    } catch { /* The stored keys are invalid: keep the defaults. */ }
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
