// Browses and reviews answers by keyboard, and stores reviews without a reload of the page. Answers of some task types
// are not reviewed.
(() => {
  const list = document.getElementById("answers");
  const status = document.getElementById("status");
  const selected = document.getElementById("selected");
  const cards = () => [...list.querySelectorAll(".answer")];
  let current = null;
  // The keys of the answers of each review, to be undone from the last.
  const done = [];
  // The latest review that is being stored. Keys that are pressed meanwhile wait for it.
  let stored = Promise.resolve();
  let pressed = Promise.resolve();

  document.getElementById("keys").hidden = false;

  const go = (card) => {
    if (!card) return;
    current = card.id;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  };
  const here = () => document.activeElement.closest(".answer") || document.getElementById(current);
  const turn = () => {
    const next = document.querySelector(".pages [rel=next], .pages [aria-current] + a");
    if (next) next.click();
    // Reviewed answers leave the queue, which new answers may have joined.
    else if ("queue" in list.dataset && !list.querySelector(".answer[data-waiting]")) location.reload();
  };
  const move = (step) => {
    const all = cards();
    const place = all.indexOf(here());
    if (step > 0 && place === all.length - 1) return turn();
    return go(place < 0 ? all[step > 0 ? 0 : all.length - 1] : all[place + step]);
  };

  const show = (sent) => {
    for (const [key, html] of Object.entries(sent.cards)) {
      const made = document.createElement("template");
      made.innerHTML = html.trim();
      document.getElementById(`answer-${key}`)?.replaceWith(made.content.firstElementChild);
    }
    status.textContent = sent.message;
    for (const badge of document.querySelectorAll("nav [aria-current] .badge")) badge.textContent = sent.waiting;
  };

  const send = async (address, body) => {
    status.textContent = "Storing…";
    try {
      const answer = await fetch(address, { method: "POST", body, headers: { Accept: "application/json" } });
      if (!answer.ok && answer.status !== 422) throw new Error(answer.status);
      show(await answer.json());
      return answer.ok;
    } catch {
      status.textContent = "Not stored: the server can't be reached. Try again.";
      return false;
    }
  };

  const undo = async () => {
    const keys = done.pop();
    if (!keys) return;
    const body = new URLSearchParams(keys.map((key) => ["answer", key]));
    body.set("csrfmiddlewaretoken", selected.querySelector("[name=csrfmiddlewaretoken]").value);
    const address = selected.action.replace("/accept/", "/undo/");
    if (!(await send(address, body))) done.push(keys);
    go(document.getElementById(`answer-${keys[0]}`));
  };

  const store = async (form, submitter) => {
    const body = new URLSearchParams(new FormData(form, submitter));
    const card = form.closest(".answer");
    const keys = card ? [card.id.replace("answer-", "")] : body.getAll("answer");
    const undoes = new URL(form.action).pathname.endsWith("/undo/");
    if (card) current = card.id;
    const accepted = await send(form.action, body);
    if (accepted && !undoes && keys.length) done.push(keys);
    const changed = document.getElementById(`answer-${keys[0]}`);
    if (!changed) return;
    if (!card) {
      go(changed);
      return;
    }
    const rest = cards();
    const next = rest.slice(rest.indexOf(changed) + 1).find((each) => "waiting" in each.dataset);
    go(accepted && !undoes && next ? next : changed);
  };

  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("form[data-review]")) return;
    event.preventDefault();
    const submitter = event.submitter;
    stored = stored.catch(() => {}).then(() => store(form, submitter));
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const field = event.target;
    if (event.key === "Enter" && field.matches(".verdict select, .verdict input[type=text]")) {
      event.preventDefault();
      field.form.requestSubmit(field.form.querySelector("button[value=rejected]"));
      return;
    }
    if (event.key === "Escape" && field.closest(".verdict")) go(field.closest(".answer"));
    if (field.matches("select, textarea, input:not([type=checkbox])")) return;
    const actions = {
      j: () => move(1),
      k: () => move(-1),
      a: () => here()?.querySelector("button[data-key=a]")?.click(),
      A: () => selected?.requestSubmit(),
      r: () => here()?.querySelector(".verdict select")?.focus(),
      u: undo,
      x: () => {
        const box = here()?.querySelector("input[name=answer][type=checkbox]");
        if (box) box.checked = !box.checked;
      },
    };
    const act = actions[event.key];
    if (!act) return;
    event.preventDefault();
    pressed = pressed.catch(() => {}).then(async () => {
      await act();
      await stored;
    });
  });
})();
