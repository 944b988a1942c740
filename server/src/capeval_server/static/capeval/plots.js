// While a plot is being made, words say so, and the one that this tab had before is shown in gray.
(() => {
  // In milliseconds. A plot that did not change is confirmed sooner, and is not shown in gray first.
  const patience = 200;

  // Of a plot that is not there yet, the browser does not say which address it chose.
  function chosen(plot) {
    const sources = [...plot.parentElement.querySelectorAll("source")];
    const source = sources.find((one) => matchMedia(one.media).matches);
    return new URL(source ? source.srcset : plot.getAttribute("src"), document.baseURI).href;
  }

  async function keep(plot) {
    const address = plot.currentSrc;
    // The browser has it already: the server is not asked again.
    const answer = await fetch(address, { cache: "force-cache" });
    if (answer.ok) sessionStorage.setItem(address, await answer.text());
  }

  function showEarlier(figure, plot, drawn) {
    const earlier = new Image();
    earlier.className = "earlier";
    earlier.alt = plot.alt;
    earlier.src = `data:image/svg+xml,${encodeURIComponent(drawn)}`;
    figure.querySelector("picture").before(earlier);
    plot.addEventListener("load", () => earlier.remove());
  }

  function sayWaiting(figure, plot, drawn) {
    const words = figure.querySelector("figcaption");
    if (drawn) words.textContent = words.dataset.earlier;
    words.hidden = false;
    for (const end of ["load", "error"]) plot.addEventListener(end, () => (words.hidden = true));
  }

  document.querySelectorAll("figure.plot").forEach((figure) => {
    const plot = figure.querySelector("img");
    // Where nothing can be kept, as with a full storage, there is no earlier plot.
    const kept = () => keep(plot).catch(() => {});
    plot.addEventListener("load", kept);
    if (plot.naturalWidth) {
      kept();
      return;
    }
    const drawn = sessionStorage.getItem(chosen(plot));
    setTimeout(() => {
      // It came meanwhile, or will not come.
      if (plot.complete) return;
      if (drawn) showEarlier(figure, plot, drawn);
      sayWaiting(figure, plot, drawn);
    }, patience);
  });
})();
