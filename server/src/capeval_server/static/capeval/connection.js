// Says on an open page that the server does not answer, and takes that back when it does again. What asks
// regularly goes on asking.
document.addEventListener("DOMContentLoaded", () => {
  const notice = document.getElementById("connection");
  const missing = "The server does not answer at the moment. This page tries again by itself.";

  const say = (text) => {
    if (notice.textContent !== text) notice.textContent = text;
  };

  document.body.addEventListener("htmx:sendError", () => say(missing));
  document.body.addEventListener("htmx:responseError", (event) => {
    if (event.detail.xhr.status >= 500) say(missing);
  });
  document.body.addEventListener("htmx:afterRequest", (event) => {
    if (event.detail.successful) say("");
  });
});
