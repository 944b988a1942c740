// Swagger is dark under a class of the page, and not by itself where the browser is.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const choose = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  choose();
  dark.addEventListener("change", choose);
})();
