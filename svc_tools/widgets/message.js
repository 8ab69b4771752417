// A live region that stays: only its content changes, so that screen readers notice.
function render({ model, el }) {
  const region = document.createElement("div");
  region.setAttribute("role", "status");
  region.setAttribute("aria-live", "polite");
  el.append(region);
  const draw = () => {
    region.innerHTML = model.get("html"); // escaped where it was made
  };
  model.on("change:html", draw);
  // a moment later: what a live region holds from the start is not announced
  setTimeout(draw, 0);
  return () => model.off("change:html", draw);
}

export default { render };
