// Shows a notice while the server does not respond, and removes it once it responds again. Elements that poll
// the server keep polling.
document.addEventListener("DOMContentLoaded", () => {
  const notice = document.getElementById("connection");
  const missing = "The server is not responding. This page retries automatically.";

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
