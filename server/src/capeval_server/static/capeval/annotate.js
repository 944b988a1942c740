// The work page: shows one item at a time, and never loses typed text. Text is saved in the browser at once and on
// the server a moment later. Answers go to the outbox (outbox.js). After a judgment, the next item is shown at once;
// a sentence is first checked by the server, if that can be reached. Choices have single-key shortcuts, which can be
// changed or disabled. Answers can be changed within their batch, and the last one can be undone.
(() => {
  const work = document.getElementById("work");
  if (!work) return;
  const items = [...work.querySelectorAll(".item")];
  // The texts in the language of the page. Languages differ in the number of plural forms; above the list of indexes,
  // the form depends on the last two digits.
  const texts = JSON.parse(document.getElementById("script-texts").textContent);
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (part, name) => values[name] ?? part);
  const fillPlural = ({ forms, indexes }, number) => {
    const place = number < indexes.length ? number : 100 + (number % 100);
    return fill(forms[indexes[place]], { number });
  };
  const DRAFT_AFTER = 1000;
  const CHECK_AFTER = 300;
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
    // The time of an answer begins when its item is first shown.
    items[at].shownAt ??= Date.now();
    items[at].querySelector(".previous").disabled = at === 0;
    items[at].querySelector(".next").disabled = at === items.length - 1;
    // On a phone, the next item would otherwise appear at the position of the last button.
    if (items[at].getBoundingClientRect().top < 0) items[at].scrollIntoView();
    // Shortcuts work only without a focused field. Focusing the item makes screen readers announce it.
    if (focus) (items[at].querySelector("textarea") || items[at]).focus();
  };

  const finished = document.getElementById("finished");
  const undo = document.getElementById("undo");
  const waiting = document.getElementById("waiting");
  const late = document.getElementById("late");
  const total = document.getElementById("answered");
  const answered = [];
  // Sentences wait for the server's check, judgments don't.
  const isWritten = work.querySelector("textarea") !== null;
  const itemOf = (lease) => items.find((item) => item.dataset.lease === lease);
  const open = () => items.findIndex((item) => !item.classList.contains("done"));
  const say = (item, text, bad) => {
    const outcome = item.querySelector(".outcome");
    outcome.textContent = text;
    outcome.classList.toggle("bad", Boolean(bad));
  };
  let leaving = false;

  // The next batch is requested once all answers to this one are stored.
  const leave = () => {
    leaving = true;
    if (outbox.isEmpty()) location.assign(work.dataset.next);
  };

  const finish = () => {
    work.hidden = true;
    finished.hidden = false;
    finished.focus();
    if (isWritten) leave();
  };

  const goBackTo = (item) => {
    leaving = false;
    work.hidden = false;
    finished.hidden = true;
    show(items.indexOf(item), true);
  };

  const press = (item, value) => item.querySelectorAll(".option").forEach((option) => {
    option.setAttribute("aria-pressed", String(option.value === value));
  });

  const countAnswered = () => {
    const now = items.filter((item) => item.classList.contains("done") && item.dataset.revision === "0").length;
    total.textContent = fillPlural(texts.answered, Number(total.dataset.answered) + now);
  };

  const takeBack = () => {
    const item = answered.pop();
    if (!item) return;
    item.classList.remove("done");
    press(item, null);
    item.querySelectorAll("input[type=radio]").forEach((radio) => { radio.checked = false; });
    say(item, outbox.cancel(item.dataset.lease) ? "" : texts.kept);
    undo.disabled = answered.length === 0;
    countAnswered();
    goBackTo(item);
  };

  const moveOn = (item) => {
    item.classList.add("done");
    countAnswered();
    const next = open();
    if (next < 0) finish();
    else show(next, true);
  };

  // Reports a problem with an answer to an item that may no longer be shown.
  const report = (item, text) => {
    if (item && items[at] === item && !work.hidden) { say(item, text, true); return; }
    const line = document.createElement("li");
    line.textContent = `${item ? `${item.getAttribute("aria-label")}: ${text}` : fill(texts.earlier, { text })} `;
    if (item) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "plain";
      button.textContent = texts.showItem;
      button.addEventListener("click", () => { line.remove(); late.hidden = !late.children.length; goBackTo(item); });
      line.append(button);
    }
    late.append(line);
    late.hidden = false;
  };

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
    const button = form.querySelector("button:not(.option)") ?? {};
    const token = form.querySelector("[name=csrfmiddlewaretoken]").value;
    const counts = { seconds: 0, keys: 0, pastes: 0, pasted: 0 };
    let draft = 0;
    let check = 0;

    // Shows the findings of the rules and, if a rule requires one, the field for the reason to keep the sentence.
    const keep = form.querySelector(".keep");
    const clean = form.querySelector(".clean");
    let told = "[]";
    const tell = (findings) => {
      // Screen readers announce the list after each change, so it changes only with the findings.
      if (told === JSON.stringify(findings)) return;
      told = JSON.stringify(findings);
      form.querySelector(".findings").replaceChildren(...findings.map((finding) => {
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
      const words = (number) => { count.textContent = fillPlural(texts.words, number); };
      keep.hidden = true;
      const look = (text) => post(item.dataset.check, new URLSearchParams({ caption: text, csrfmiddlewaretoken: token }));
      const ask = async () => {
        const text = field.value;
        try {
          const answer = await look(text);
          const found = answer.ok ? await answer.json() : null;
          // Text that was typed meanwhile gets its own check.
          if (field.value !== text) return;
          if (found && text.length <= field.maxLength) words(found.words);
          tell(found ? found.findings : []);
        } catch {
          // The findings of an earlier text are outdated. The server checks again when the sentence is submitted.
          if (field.value === text) tell([]);
        }
      };
      // The worker sees the cleaned sentence before it is submitted.
      clean.addEventListener("click", async (event) => {
        event.preventDefault();
        const text = field.value;
        const answer = await look(text).catch(() => null);
        const found = answer?.ok ? await answer.json().catch(() => null) : null;
        if (!found) {
          say(item, texts.notRemoved, true);
          return;
        }
        if (found.cleaned === null || field.value !== text) return;
        field.value = found.cleaned;
        field.dispatchEvent(new Event("input"));
        say(item, texts.removed);
        field.focus();
      });
      const earlier = kept.get(name);
      const noteChange = () => say(item, item.classList.contains("done") ? texts.kept : "");
      if (earlier !== null && earlier !== field.value) { field.value = earlier; noteChange(); }
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
        noteChange();
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

    item.settle = (found) => {
      kept.remove(name);
      clearTimeout(check);
      if (field) tell([]);
      button.disabled = false;
      say(item, found.text);
      if (found.outcome === "surplus") report(item, found.text);
      item.moveOn();
    };

    // After a sentence was sent, the next item appears once the server has answered or can't be reached.
    let isAwaited = false;
    item.moveOn = () => {
      if (!isAwaited) return;
      isAwaited = false;
      button.disabled = false;
      moveOn(item);
    };

    item.refuse = (found) => {
      isAwaited = false;
      button.disabled = false;
      item.classList.remove("done");
      press(item, null);
      countAnswered();
      const isShown = items[at] === item && !work.hidden;
      if (!found.findings || !isShown) report(item, fill(texts.notStored, { problem: found.detail }));
      if (!found.findings) return;
      // The list contains the problems.
      tell(found.findings);
      say(item, keep.hidden ? texts.refused : texts.unexplained, true);
      if (isShown) (keep.hidden ? field : keep.querySelector("input")).focus();
    };

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (button.disabled) return;
      const { submitter } = event;
      if (submitter?.getAttribute("aria-pressed") === "true" && item.classList.contains("done")) { moveOn(item); return; }
      clearTimeout(draft);
      counts.seconds = Math.round((Date.now() - item.shownAt) / 1000);
      const body = new URLSearchParams(new FormData(form, submitter));
      body.delete("csrfmiddlewaretoken");
      body.delete("revision");
      body.set("events", JSON.stringify(counts));
      if (isWritten) {
        isAwaited = true;
        button.disabled = true;
        say(item, texts.sending);
      } else {
        say(item, "");
        if (submitter?.classList.contains("option")) press(item, submitter.value);
        if (!answered.includes(item)) answered.push(item);
        undo.disabled = false;
      }
      outbox.add({ lease: item.dataset.lease, address: form.action, body: body.toString() });
      if (!isWritten) moveOn(item);
    });

    form.querySelectorAll(".option").forEach((option) => option.addEventListener("click", (event) => {
      // The second click of a double-click would answer the next item.
      if (event.detail > 1) event.preventDefault();
    }));

    for (const [kind, step] of [["previous", -1], ["next", 1]]) {
      const turn = item.querySelector(`.${kind}`);
      turn.hidden = items.length === 1;
      turn.removeAttribute("accesskey");
      turn.addEventListener("click", () => show(at + step, true));
    }
  };

  const outbox = createOutbox({
    name: `annotate-outbox:${work.dataset.campaign}`,
    post: (address, body) => { body.set("csrfmiddlewaretoken", csrfToken); return post(address, body); },
    gone: texts.gone,
    stored: new Map(items.map((item) => [item.dataset.lease, Number(item.dataset.revision)])),
    onStored: (entry, found) => {
      noteRenewal();
      const item = itemOf(entry.lease);
      if (item) item.settle(found);
      else if (found.outcome === "surplus") report(null, found.text);
      if (leaving && outbox.isEmpty()) location.assign(work.dataset.next);
    },
    onRefused: (entry, found) => {
      const item = itemOf(entry.lease);
      if (!found) waiting.textContent = texts.outOfDate;
      else if (item) item.refuse(found);
      else report(null, fill(texts.notStored, { problem: found.detail }));
    },
    onWaiting: (entries) => {
      const count = entries.length;
      if (!count) { waiting.textContent = ""; return; }
      waiting.textContent = fillPlural(texts.waiting, count);
      for (const { lease } of entries) itemOf(lease)?.moveOn();
    },
  });

  items.forEach(setUp);
  for (const item of items) {
    const entry = outbox.get(item.dataset.lease);
    if (!entry) continue;
    item.classList.add("done");
    for (const [field, value] of new URLSearchParams(entry.body)) {
      press(item, value);
      const text = item.querySelector(`textarea[name="${field}"]`);
      if (text) text.value = value;
      const radio = [...item.querySelectorAll(`input[type=radio][name="${field}"]`)].find((each) => each.value === value);
      if (radio) radio.checked = true;
    }
  }
  outbox.send();
  finished.querySelector("a").addEventListener("click", (event) => { event.preventDefault(); leave(); });
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
    const hint = () => document.querySelectorAll("button kbd").forEach((key) => {
      key.textContent = fields[Number(key.closest(".option")?.dataset.place ?? fields.length - 1)].value;
      key.hidden = !switched.checked || !key.textContent;
    });
    hint();
    const keep = () => kept.set(
      keysKept, JSON.stringify({ on: switched.checked, keys: fields.map((field) => field.value) }),
    );
    [switched, ...fields].forEach((field) => field.addEventListener("change", () => { keep(); hint(); }));
  }

  // On keyboards with other letters, such as Hebrew or Cyrillic ones, the key at the same place counts.
  const isPressed = (event, key) => key && (event.key.toLowerCase() === key.toLowerCase()
    || (event.key > "\u007f" && event.code === `Key${key.toUpperCase()}`));

  const byKey = (event) => {
    if (!switched?.checked || event.repeat || event.shiftKey || event.isComposing) return;
    // Controls handle only these two keys themselves, so letters work there too, such as after closing a panel.
    const isControl = event.target.closest("button:not(.option), a, summary") && [" ", "Enter"].includes(event.key);
    if (isControl || event.target.closest("input, textarea, select")) return;
    const place = fields.findIndex((field) => isPressed(event, field.value));
    if (place < 0) return;
    event.preventDefault();
    if (place === fields.length - 1) takeBack();
    else if (work.hidden) leave();
    else items[at].querySelector(`.option[data-place="${place}"]`)?.click();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey) return;
    if (!event.altKey) { byKey(event); return; }
    const step = { KeyK: -1, KeyL: 1 }[event.code];
    if (!step) return;
    event.preventDefault();
    show(at + step, true);
  });
  const first = open();
  if (first < 0) finish();
  else show(first, false);
  // The first item has the focus, so that its keys work; the field of a sentence is ready for typing.
  if (first >= 0) (items[first].querySelector("textarea") ?? items[first]).focus({ preventScroll: true });
})();
