// Adds a function to buttons that copy the text of another element, where the browser can copy.
(() => {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button[data-copies]")) {
    const said = document.getElementById(button.getAttribute("aria-describedby"));
    button.hidden = false;
    button.addEventListener("click", async () => {
      const text = document.getElementById(button.dataset.copies).textContent.trim();
      try {
        await navigator.clipboard.writeText(text);
        said.textContent = "Copied.";
      } catch {
        said.textContent = "Your browser did not copy it: select the text above.";
      }
    });
  }
})();
