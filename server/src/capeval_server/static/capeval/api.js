// Swagger's dark mode needs a class on the page; it does not follow the browser's setting.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const choose = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
  choose();
  dark.addEventListener("change", choose);
})();
