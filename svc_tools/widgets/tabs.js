// The tabs: one tab stop, arrow keys between them (the pattern of the ARIA practices guide).

// In JupyterLab a key means something for the notebook, too: "d d" on a radio button of the panel
// removes the cell, the arrow keys leave it, Enter presses nothing. The notebook's bindings look at
// the element that has the focus first, so only the mark on that very element keeps them off. On
// the window, and first of all: some versions look for it while the key travels down.
const MARK = "data-lm-suppress-shortcuts";

function forTheNotebook(event) {
  const command = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  const save = command && key === "s";
  const palette = command && event.shiftKey && key === "c";
  return save || palette || /^(escape|f\d+)$/.test(key);
}

function keepKeys(event) {
  const target = event.target;
  if (!(target instanceof Element) || !target.closest(".svc-panel")) return;
  if (forTheNotebook(event)) target.removeAttribute(MARK);
  else target.setAttribute(MARK, "true");
}

function render({ model, el }) {
  window.addEventListener("keydown", keepKeys, true);
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", model.get("label"));
  list.className = "svc-tablist";
  el.append(list);
  const names = model.get("names");
  const buttons = names.map((name, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("role", "tab");
    button.textContent = name;
    button.addEventListener("click", () => choose(at));
    button.addEventListener("keydown", (event) => {
      const last = names.length - 1;
      const to = {
        ArrowRight: at === last ? 0 : at + 1,
        ArrowLeft: at === 0 ? last : at - 1,
        Home: 0,
        End: last,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose(to);
      buttons[to].focus();
    });
    list.append(button);
    return button;
  });
  function choose(at) {
    model.set("selected", at);
    model.save_changes();
  }
  function draw() {
    buttons.forEach((button, at) => {
      const chosen = at === model.get("selected");
      button.setAttribute("aria-selected", String(chosen));
      button.tabIndex = chosen ? 0 : -1;
    });
  }
  model.on("change:selected", draw);
  draw();
  return () => {
    model.off("change:selected", draw);
    window.removeEventListener("keydown", keepKeys, true);
  };
}

export default { render };
