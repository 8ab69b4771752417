// Send a file of the reader's machine to the kernel, piece by piece: each waits for the one before.

function render({ model, el }) {
  el.classList.add("svc-action");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "svc-native";
  const input = document.createElement("input");
  input.type = "file";
  input.hidden = true;
  const status = document.createElement("span");
  status.className = "svc-action-status";
  status.setAttribute("role", "status");
  status.setAttribute("aria-live", "polite");

  let coming = null; // the file under way: view, the file, where the next piece begins
  const report = (text) => { status.textContent = text; };
  const draw = () => {
    button.textContent = model.get("label");
    input.accept = model.get("accept");
    button.setAttribute("aria-disabled", String(model.get("disabled")));
  };

  const next = async () => {
    const { view, file, at } = coming;
    if (at >= file.size) {
      coming.ended = true;
      model.send({ type: "end", view, size: file.size });
      return;
    }
    let bytes;
    try {
      bytes = await file.slice(at, at + model.get("piece")).arrayBuffer();
    } catch {
      coming = null;
      model.send({ type: "drop", view });
      report("The file cannot be read: it may have been moved or changed");
      return;
    }
    if (coming === null || coming.view !== view) return;
    coming.at += bytes.byteLength;
    model.send({ type: "piece", view }, undefined, [bytes]);
  };

  const heard = (message) => {
    if (coming === null || message.view !== coming.view) return;
    if (message.type === "trouble") {
      coming = null;
      report("");
    } else if (coming.ended) {
      report(`Uploaded: ${coming.file.name}`);
      coming = null;
    } else {
      if (coming.file.size > model.get("piece")) {
        report(`Uploading: ${Math.floor((100 * coming.at) / coming.file.size)}%`);
      }
      next();
    }
  };

  const choose = () => {
    if (!model.get("disabled")) input.click();
  };

  const chosen = () => {
    const [file] = input.files;
    input.value = ""; // the same file can be chosen again
    if (file === undefined) return;
    const limit = model.get("limit");
    if (limit !== null && file.size > limit) {
      report(`${file.name} is too large to be uploaded: give its path instead`);
      return;
    }
    const view = crypto.getRandomValues(new Uint32Array(2)).join("-");
    coming = { view, file, at: 0, ended: false };
    report(`Uploading: ${file.name}`);
    model.send({ type: "begin", view, name: file.name });
  };

  button.addEventListener("click", choose);
  input.addEventListener("change", chosen);
  model.on("change:label change:accept change:disabled", draw);
  model.on("msg:custom", heard);
  draw();
  el.append(button, input, status);
  return () => {
    model.off("change:label change:accept change:disabled", draw);
    model.off("msg:custom", heard);
  };
}

export default { render };
