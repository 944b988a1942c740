// While a plot is being rendered, shows a message and, in gray, the previous plot of this tab.
(() => {
  // In milliseconds. An unchanged plot is confirmed sooner, so it is not shown in gray first.
  const patience = 200;

  // Browsers do not report the chosen source of an image that is still loading.
  function chosen(plot) {
    const sources = [...plot.parentElement.querySelectorAll("source")];
    const source = sources.find((one) => matchMedia(one.media).matches);
    return new URL(source ? source.srcset : plot.getAttribute("src"), document.baseURI).href;
  }

  async function keep(plot) {
    const address = plot.currentSrc;
    // Read from the browser's cache, without another request.
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
    plot.addEventListener("load", () => (words.hidden = true));
  }

  function sayFailed(figure) {
    const words = figure.querySelector("figcaption");
    words.textContent = words.dataset.failed;
    words.hidden = false;
  }

  document.querySelectorAll("figure.plot").forEach((figure) => {
    const plot = figure.querySelector("img");
    // If nothing can be stored, for example in a full storage, there is no previous plot.
    const kept = () => keep(plot).catch(() => {});
    plot.addEventListener("load", kept);
    plot.addEventListener("error", () => sayFailed(figure));
    if (plot.naturalWidth) {
      kept();
      return;
    }
    const drawn = sessionStorage.getItem(chosen(plot));
    setTimeout(() => {
      // Loaded or failed meanwhile.
      if (plot.complete) return;
      if (drawn) showEarlier(figure, plot, drawn);
      sayWaiting(figure, plot, drawn);
    }, patience);
  });
})();
