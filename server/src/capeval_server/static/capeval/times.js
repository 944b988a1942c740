// Adds the reader's local time to each time in UTC.
(() => {
  const day = new Intl.DateTimeFormat("sv-SE");
  const clock = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZoneName: "short" });
  const inUTC = new Intl.DateTimeFormat("sv-SE", { timeZone: "UTC" });

  function show(time) {
    const at = new Date(time.dateTime);
    time.dataset.shown = "";
    if (Number.isNaN(at.getTime()) || at.getTimezoneOffset() === 0) return;
    const here = document.createElement("span");
    here.className = "here";
    const date = day.format(at) === inUTC.format(at) ? "" : `${day.format(at)} `;
    here.textContent = `(${date}${clock.format(at)})`;
    time.after(" ", here);
  }

  const showAll = (part) => part.querySelectorAll("time.at:not([data-shown])").forEach(show);
  showAll(document);
  document.addEventListener("htmx:load", (event) => showAll(event.detail.elt));
})();
