// The tabs: one tab stop, arrow keys between them (the pattern of the ARIA practices guide).
function render({ model, el }) {
  const list = document.createElement("div");
  list.setAttribute("role", "tablist");
  list.setAttribute("aria-label", model.get("label"));
  list.className = "svc-tablist";
  el.append(list);
  // the notebook has its own meaning for letters and arrows: "d d" deletes the cell
  requestAnimationFrame(() => {
    el.closest(".svc-panel")?.setAttribute("data-lm-suppress-shortcuts", "true");
  });
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
      event.stopPropagation(); // the notebook has its own meaning for arrow keys
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
  return () => model.off("change:selected", draw);
}

export default { render };
