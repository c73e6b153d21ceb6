// Keys of the labelling queue. The page works without this file: every key sends a form of the page,
// and the server renders what it changes.
//
// - 0-3 grade the focused result, b marks it as borderline, s marks the answering text, u undoes.
// - Arrows, j and k move between results (roving tabindex), n and p between queries.
// - After a change, the sections named in LIVE are replaced by those of the answer, and the measures
//   are announced.

const LIVE = ["labelling", "label-measures", "label-queue"];
const said = document.getElementById("label-said");

// What to send to undo each change, newest last.
const changes = [];
// The page of the focused result.
let focused = null;
// Changes are sent one after another, in the order of the keys.
let queue = Promise.resolve();

const results = () => [...document.querySelectorAll("#labelling .result")];
const resultOf = (page) => results().find((one) => one.dataset.page === page);
const current = () => resultOf(focused) ?? results()[0];
const isTyping = (target) => target.closest?.("input, textarea, select, [contenteditable]");

function say(text) {
  if (said) said.textContent = text;
}

function focus(result, { scroll = true } = {}) {
  if (!result) return;
  for (const one of results()) one.tabIndex = one === result ? 0 : -1;
  focused = result.dataset.page;
  result.focus({ preventScroll: true });
  if (scroll) result.scrollIntoView({ block: "nearest" });
}

function move(step) {
  const all = results();
  const at = all.indexOf(current());
  focus(all[Math.min(all.length - 1, Math.max(0, at + step))]);
}

// Puts in the sections of an answer; the focus stays on its result.
function put(answer) {
  for (const id of LIVE) {
    const [now, next] = [document.getElementById(id), answer.getElementById(id)];
    if (now && next) now.replaceWith(document.adoptNode(next));
  }
  const hadFocus = document.activeElement === document.body;
  const result = resultOf(focused) ?? results()[0];
  if (hadFocus) focus(result, { scroll: false });
  else for (const one of results()) one.tabIndex = one === result ? 0 : -1;
}

// Sends the form of a result with some values changed; whether it was saved.
async function send(page, values, what) {
  const form = resultOf(page)?.querySelector("form.grades");
  if (!form) return false;
  const body = new URLSearchParams(new FormData(form));
  for (const [name, value] of Object.entries(values)) body.set(name, value);
  // `form.action` would be the buttons of that name.
  const reply = await fetch(form.getAttribute("action"), { method: "POST", body, headers: { accept: "text/html" } });
  const answer = new DOMParser().parseFromString(await reply.text(), "text/html");
  if (!reply.ok || !answer.getElementById("labelling")) {
    const why = answer.querySelector(".why")?.textContent ?? "sign in again";
    say(`Not saved: ${why}`);
    return false;
  }
  put(answer);
  const rank = resultOf(page)?.querySelector(".rank")?.textContent ?? "";
  const measures = document.getElementById("label-measures")?.dataset.announce ?? "";
  say(`Result ${rank}: ${what}. ${measures}`);
  return true;
}

function later(work) {
  queue = queue.then(work).catch((error) => say(`Not saved: ${error.message}`));
}

const value = (form, name) => form.elements.namedItem(name)?.value ?? "";

// The own judgement of a result, to return to.
function judgementOf(page) {
  const form = resultOf(page)?.querySelector("form.grades");
  if (!form) return null;
  const span = form.querySelector("textarea")?.defaultValue ?? "";
  return { own: value(form, "own"), borderline: value(form, "borderline"), span };
}

function change(page, values, what) {
  later(async () => {
    const before = judgementOf(page);
    if (before && await send(page, values, what)) changes.push({ page, before });
  });
}

function undo() {
  later(async () => {
    const last = changes.at(-1);
    if (!last) {
      say("There is nothing to undo.");
      return;
    }
    const { page, before } = last;
    const values = before.own === ""
      ? { action: "undo" }
      : { action: "restore", grade: before.own, borderline: before.borderline, span: before.span };
    focus(resultOf(page));
    if (await send(page, values, "undone")) changes.pop();
  });
}

function grade(number) {
  const result = current();
  if (result) change(result.dataset.page, { grade: String(number) }, `graded ${number}`);
}

// The selected text of the focused result, if some is selected.
function selectedText(result) {
  const selection = getSelection();
  const isInside = selection.rangeCount > 0 && result.querySelector(".snippet")?.contains(selection.anchorNode);
  return isInside ? selection.toString().trim() : "";
}

function mark() {
  const result = current();
  if (!result) return;
  const text = selectedText(result);
  if (text) {
    change(result.dataset.page, { action: "span", span: text }, "answering text marked");
    return;
  }
  // Without a selection, the text is chosen in the field: Enter saves the selected part, or all.
  const details = result.querySelector("details.span");
  const field = details.querySelector("textarea");
  details.open = true;
  if (field.value === "") field.value = field.dataset.snippet;
  field.focus();
  field.select();
}

function saveSpan(field) {
  const result = field.closest(".result");
  const part = field.value.slice(field.selectionStart, field.selectionEnd).trim();
  focus(result);
  change(result.dataset.page, { action: "span", span: part || field.value.trim() }, "answering text marked");
}

const follow = (selector) => document.querySelector(`#labelling a[${selector}]`)?.click();

const keys = new Map([
  ["0", () => grade(0)],
  ["1", () => grade(1)],
  ["2", () => grade(2)],
  ["3", () => grade(3)],
  ["ArrowDown", () => move(1)],
  ["ArrowRight", () => move(1)],
  ["ArrowUp", () => move(-1)],
  ["ArrowLeft", () => move(-1)],
  ["j", () => move(1)],
  ["k", () => move(-1)],
  ["n", () => follow("data-next")],
  ["p", () => follow("data-previous")],
  ["s", mark],
  ["b", () => current() && change(current().dataset.page, { action: "borderline" }, "borderline changed")],
  ["u", undo],
]);

// Before the keys of every page, which j and k have too.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (isTyping(event.target)) {
    const field = event.target.closest("details.span textarea");
    if (field && event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      saveSpan(field);
    } else if (field && event.key === "Escape") {
      field.closest("details").open = false;
      focus(field.closest(".result"));
    }
    return;
  }
  // Shift and arrows select text.
  if (event.shiftKey && event.key.startsWith("Arrow")) return;
  const act = results().length > 0 && keys.get(event.key);
  if (!act) return;
  event.preventDefault();
  event.stopPropagation();
  act();
}, { capture: true });

// The buttons of the forms, by mouse or by Enter.
document.addEventListener("submit", (event) => {
  const form = event.target.closest("form.grades");
  if (!form) return;
  event.preventDefault();
  const page = form.closest(".result").dataset.page;
  const { name, value: chosen } = event.submitter ?? {};
  const values = name ? { [name]: chosen } : { action: "span" };
  const what = event.submitter?.textContent.trim().replace(/\s+/g, " ") ?? "saved";
  focused = page;
  change(page, values, what);
});

document.addEventListener("focusin", (event) => {
  const result = event.target.closest?.("#labelling .result");
  if (!result) return;
  focused = result.dataset.page;
  for (const one of results()) one.tabIndex = one === result ? 0 : -1;
});

// The page opens at the result of its URL, else at the first that is not judged.
const isUnjudged = (result) => value(result.querySelector("form.grades"), "own") === "";
const linked = document.getElementById(location.hash.slice(1));
focus(results().find((one) => one === linked) ?? results().find(isUnjudged) ?? results()[0]);
