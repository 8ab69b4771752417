// Copy a text, save a file. Loaded from this package by anywidget; asks nothing of any other host.

const SAID_FOR = 4000; // milliseconds for which "Copied" stays

function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function teller() {
  const said = element("span", "svc-action-said");
  said.setAttribute("role", "status");
  said.setAttribute("aria-live", "polite");
  let timer;
  const say = (text, stays) => {
    clearTimeout(timer);
    said.textContent = text;
    if (!stays) timer = setTimeout(() => { said.textContent = ""; }, SAID_FOR);
  };
  return { said, say };
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

function copyButton(label, text, said) {
  const button = element("button", "svc-native", label());
  button.type = "button";
  button.addEventListener("click", async () => {
    const done = await copied(text());
    said(done ? "Copied" : "The browser does not allow copying here: select the text instead");
  });
  return button;
}

function renderCopy(model, el) {
  const { said, say } = teller();
  const button = copyButton(() => model.get("label"), () => model.get("text"), say);
  const labelled = () => { button.textContent = model.get("label"); };
  model.on("change:label", labelled);
  el.append(button, said);
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
  const who = crypto.getRandomValues(new Uint32Array(2)).join("-");
  const { said, say } = teller();
  const place = element("span", "svc-action-place");
  let parts = [];

  const ask = () => {
    parts = [];
    say("Fetching the file…", true);
    model.send({ ask: "file", who });
  };

  const draw = () => {
    const name = model.get("name");
    const words = `${model.get("label")} (${model.get("size")})`;
    const focused = place.contains(document.activeElement);
    place.replaceChildren();
    el.hidden = name === "";
    say("", true);
    if (name === "") return;
    if (model.get("url")) {
      const link = element("a", "svc-native", words);
      link.href = model.get("url");
      link.download = name;
      place.append(link);
    } else if (model.get("place")) {
      const told = element("span", "svc-path");
      told.append(`${name} (${model.get("size")}) is too large to be sent to the page. It is here: `);
      told.append(element("code", "", model.get("place")));
      place.append(told, copyButton(() => "Copy the path", () => model.get("place"), say));
    } else {
      const button = element("button", "svc-native", words);
      button.type = "button";
      button.addEventListener("click", ask);
      place.append(button);
    }
    if (focused) place.querySelector("button, a")?.focus();
  };

  const heard = (message, buffers) => {
    if (message.who !== who) return;
    if (message.tell === "piece") {
      const [one] = buffers;
      parts.push(one instanceof DataView
        ? new Uint8Array(one.buffer, one.byteOffset, one.byteLength) : one);
    } else if (message.tell === "end") {
      save(parts, message.name);
      parts = [];
      say(`Saved: ${message.name}`);
    } else if (message.tell === "trouble") {
      parts = [];
      say(`The file cannot be read: ${message.why}`, true);
    }
  };

  const changes = "change:label change:name change:size change:place change:url";
  const redraw = () => queueMicrotask(draw);
  model.on(changes, redraw);
  model.on("msg:custom", heard);
  el.append(place, said);
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
