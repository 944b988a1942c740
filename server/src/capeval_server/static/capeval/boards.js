// On narrow screens, scrolls a leaderboard to the column that sorts it.
(() => {
  for (const heading of document.querySelectorAll(".board th[aria-sort]")) {
    const box = heading.closest(".scroll");
    const hidden = heading.getBoundingClientRect().right - box.getBoundingClientRect().right;
    if (hidden > 0) box.scrollLeft += hidden;
  }
})();
