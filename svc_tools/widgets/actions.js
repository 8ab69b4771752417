// Copy a text, save a file. Loaded from this package by anywidget; requests nothing from any other host.

const SHOWN_FOR = 4000; // milliseconds for which "Copied" stays

function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function statusLine() {
  const status = element("span", "svc-action-status");
  status.setAttribute("role", "status");
  status.setAttribute("aria-live", "polite");
  let timer;
  const report = (text, stays) => {
    clearTimeout(timer);
    status.textContent = text;
    if (!stays) timer = setTimeout(() => { status.textContent = ""; }, SHOWN_FOR);
  };
  return { status, report };
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // a page that is not secure has no clipboard: the old way, and the focus goes back
    const before = document.activeElement;
    const area = element("textarea", "svc-away");
    area.value = text;
    document.body.append(area);
    area.select();
    let done = false;
    try {
      done = document.execCommand("copy");
    } catch {
      done = false;
    }
    area.remove();
    if (before instanceof HTMLElement) before.focus();
    return done;
  }
}

function copyButton(label, text, status) {
  const button = element("button", "svc-native", label());
  button.type = "button";
  button.addEventListener("click", async () => {
    const done = await copied(text());
    status(done ? "Copied" : "The browser does not allow copying here: select the text instead");
  });
  return button;
}

function renderCopy(model, el) {
  const { status, report } = statusLine();
  const button = copyButton(() => model.get("label"), () => model.get("text"), report);
  const labelled = () => { button.textContent = model.get("label"); };
  model.on("change:label", labelled);
  el.append(button, status);
  return () => model.off("change:label", labelled);
}

function save(parts, name) {
  const url = URL.createObjectURL(new Blob(parts));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.hidden = true;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

function renderDownload(model, el) {
  const view = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const { status, report } = statusLine();
  const place = element("span", "svc-action-place");
  let parts = [];

  const request = () => {
    parts = [];
    report("Fetching the file…", true);
    model.send({ type: "request", view });
  };

  const draw = () => {
    const name = model.get("name");
    const words = `${model.get("label")} (${model.get("size")})`;
    const focused = place.contains(document.activeElement);
    place.replaceChildren();
    el.hidden = name === "";
    report("", true);
    if (name === "") return;
    if (model.get("url")) {
      const link = element("a", "svc-native", words);
      link.href = model.get("url");
      link.download = name;
      place.append(link);
    } else if (model.get("place")) {
      const where = element("span", "svc-path");
      where.append(`${name} (${model.get("size")}) is too large to be sent to the page. It is here: `);
      where.append(element("code", "", model.get("place")));
      place.append(where, copyButton(() => "Copy the path", () => model.get("place"), report));
    } else {
      const button = element("button", "svc-native", words);
      button.type = "button";
      button.addEventListener("click", request);
      place.append(button);
    }
    if (focused) place.querySelector("button, a")?.focus();
  };

  const heard = (message, buffers) => {
    if (message.view !== view) return;
    if (message.type === "piece") {
      const [one] = buffers;
      parts.push(one instanceof DataView
        ? new Uint8Array(one.buffer, one.byteOffset, one.byteLength) : one);
    } else if (message.type === "end") {
      save(parts, message.name);
      parts = [];
      report(`Saved: ${message.name}`);
    } else if (message.type === "trouble") {
      parts = [];
      report(`The file cannot be read: ${message.why}`, true);
    }
  };

  const changes = "change:label change:name change:size change:place change:url";
  const redraw = () => queueMicrotask(draw);
  model.on(changes, redraw);
  model.on("msg:custom", heard);
  el.append(place, status);
  draw();
  return () => {
    model.off(changes, redraw);
    model.off("msg:custom", heard);
  };
}

function render({ model, el }) {
  el.classList.add("svc-action");
  return model.get("kind") === "copy" ? renderCopy(model, el) : renderDownload(model, el);
}

export default { render };
