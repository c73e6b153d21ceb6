// Conveniences of the console. Every page works without this file.
//
// - The menu closes in a narrow window.
// - Keys: j and k move between rows, Enter opens one, / goes to the first field, ? lists the keys.
// - <form data-update="ID"> replaces the element with that id in place, and its state is in the URL.
// - The <output> of a slider shows its value while it moves.
// - <progress data-events="URL"> follows the server-sent events of a job and reloads when it has ended.

const menu = document.querySelector(".side .menu");
const narrow = matchMedia("(max-width: 860px)");
if (menu) {
  const fit = () => { menu.open = !narrow.matches; };
  fit();
  narrow.addEventListener("change", fit);
}

const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable]");

const rows = () => [...document.querySelectorAll("main details > summary, main tbody th a, main [data-row]")];

function move(step) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.indexOf(document.activeElement);
  const next = all[Math.min(all.length - 1, Math.max(0, at + step))] ?? all[0];
  next.focus();
}

const keys = new Map([
  ["j", () => move(1)],
  ["k", () => move(-1)],
  ["/", () => document.querySelector(".controls input:not([type=hidden])")?.focus()],
  ["?", showKeys],
]);

function showKeys() {
  let dialog = document.querySelector("dialog.keys");
  if (!dialog) {
    dialog = document.createElement("dialog");
    dialog.className = "keys";
    const close = document.createElement("form");
    close.method = "dialog";
    const list = document.createElement("dl");
    const known = [["j, k", "next or previous row"], ["Enter", "open the row"], ["/", "go to the first filter"], ["?", "show these keys"]];
    for (const extra of document.querySelectorAll("[data-key-help]")) {
      known.push([extra.dataset.key, extra.dataset.keyHelp]);
    }
    for (const [key, what] of known) {
      const term = document.createElement("dt");
      term.textContent = key;
      const meaning = document.createElement("dd");
      meaning.textContent = what;
      list.append(term, meaning);
    }
    const button = document.createElement("button");
    button.textContent = "Close";
    const heading = document.createElement("h2");
    heading.textContent = "Keys";
    close.append(heading, list, button);
    dialog.append(close);
    document.body.append(dialog);
  }
  dialog.showModal();
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  const act = keys.get(event.key);
  if (act) {
    event.preventDefault();
    act();
  }
});

const pageAddress = () => location.pathname + location.search;
let shownAddress = pageAddress();

// Replaces one element of the page by the same element of another URL.
async function update(url, id, { push }) {
  const answer = await fetch(url, { headers: { accept: "text/html" } });
  // The session has ended: the form to sign in is a page of its own.
  if (answer.redirected) {
    location.assign(url);
    return;
  }
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const [now, next] = [document.getElementById(id), page.getElementById(id)];
  if (!now || !next) {
    location.assign(url);
    return;
  }
  now.replaceWith(next);
  // The links to other pages of a list stand after it.
  const [pager, links] = [document.querySelector(".pager"), page.querySelector(".pager")];
  if (pager && links) pager.replaceWith(links);
  else if (pager) pager.remove();
  else if (links) next.after(links);
  document.title = page.title;
  if (push) history.pushState({ update: id }, "", url);
  shownAddress = pageAddress();
}

for (const form of document.querySelectorAll("form[data-update]")) {
  const address = () => {
    const given = [...new FormData(form)].filter(([, value]) => value !== "");
    const query = new URLSearchParams(given).toString();
    return query ? `${form.getAttribute("action")}?${query}` : form.getAttribute("action");
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    update(address(), form.dataset.update, { push: true });
  });
  form.addEventListener("change", () => update(address(), form.dataset.update, { push: true }));
}

document.addEventListener("input", ({ target }) => {
  const shown = target.type === "range" && target.parentElement.querySelector("output");
  if (shown) shown.value = target.value;
});

// Another part of the same page, such as the target of the skip link, is no other page.
addEventListener("popstate", () => {
  if (pageAddress() !== shownAddress) location.reload();
});

for (const bar of document.querySelectorAll("progress[data-events]")) {
  const events = new EventSource(bar.dataset.events);
  const note = document.getElementById(bar.dataset.note ?? "");
  const show = (event) => {
    const job = JSON.parse(event.data);
    if (job.total) [bar.max, bar.value] = [job.total, job.done];
    if (note) note.textContent = [job.state, job.note].filter(Boolean).join(": ");
    if (["done", "failed", "cancelled"].includes(job.state)) {
      events.close();
      location.reload();
    }
  };
  for (const name of ["message", "progress", "state", "end"]) events.addEventListener(name, show);
}
