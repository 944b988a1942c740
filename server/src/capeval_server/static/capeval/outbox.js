// Answers on their way to the server. The browser keeps each answer, also over a reload, until the server confirms
// or refuses it. Answers are sent one at a time, in their order, and again while the server can't be reached:
// the server recognizes an answer that it has already stored.
const createOutbox = ({ name, post, gone, stored, onStored, onRefused, onWaiting }) => {
  const LONGEST_PAUSE = 15000;
  // Each window has a list of its own, so that windows don't overwrite each other's.
  const own = `${name}:${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  let entries = [];
  let sending = false;
  let stopped = false;
  let wake = () => {};

  const save = () => {
    try {
      if (entries.length) localStorage.setItem(own, JSON.stringify(entries));
      else localStorage.removeItem(own);
    } catch { /* The page still has the answers. */ }
  };

  // Takes over the answers of windows that were closed. An open window sends its own as well, which is harmless.
  const takeOver = () => {
    try {
      const names = Object.keys(localStorage).filter((key) => key.startsWith(`${name}:`));
      for (const key of names) {
        entries.push(...JSON.parse(localStorage.getItem(key)));
        localStorage.removeItem(key);
      }
      entries.sort((one, other) => one.time - other.time);
    } catch { /* Nothing was kept, or it can't be read. */ }
    save();
  };

  const pause = (milliseconds) => new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    wake = () => { clearTimeout(timer); resolve(); };
  });

  const parse = (text) => { try { return JSON.parse(text); } catch { return null; } };

  const sendFirst = async () => {
    const [entry] = entries;
    // The number of the revision is part of the answer's identity: it stays the same when sent again.
    entry.revision ??= (stored.get(entry.lease) ?? 0) + 1;
    entry.sent = true;
    save();
    const body = new URLSearchParams(entry.body);
    body.set("revision", String(entry.revision));
    const answer = await post(entry.address, body).catch(() => null);
    if (!answer || answer.status >= 500 || answer.status === 429) return false;
    // The connection may end in the middle of the response.
    const text = await answer.text().catch(() => null);
    if (text === null) return false;
    const found = parse(text);
    // Without a description of the problem, the page itself is out of date; a new one may succeed.
    if (!found && answer.status !== 404) { stopped = true; onRefused(entry, null); return true; }
    entries.shift();
    save();
    if (answer.ok) {
      stored.set(entry.lease, found.revision);
      onStored(entry, found);
    } else onRefused(entry, found ?? { detail: gone });
    return true;
  };

  const send = async () => {
    if (sending) return;
    sending = true;
    let next = 1000;
    while (entries.length && !stopped) {
      if (await sendFirst()) { next = 1000; if (entries.length === 0 || stopped) break; continue; }
      onWaiting(entries);
      await pause(next);
      next = Math.min(2 * next, LONGEST_PAUSE);
    }
    sending = false;
    onWaiting(stopped ? entries : []);
  };

  window.addEventListener("online", () => wake());
  takeOver();
  return {
    send,
    // Adds an answer; it replaces one to the same item that was not sent yet.
    add: (entry) => {
      const earlier = entries.findIndex((each) => each.lease === entry.lease && !each.sent);
      if (earlier >= 0) entries.splice(earlier, 1);
      entries.push({ ...entry, revision: null, sent: false, time: Date.now() });
      save();
      send();
    },
    // Removes an answer that was not sent yet, and returns whether there was one.
    cancel: (lease) => {
      const earlier = entries.findIndex((each) => each.lease === lease && !each.sent);
      if (earlier < 0) return false;
      entries.splice(earlier, 1);
      save();
      return true;
    },
    get: (lease) => entries.findLast((each) => each.lease === lease),
    isEmpty: () => entries.length === 0,
  };
};
