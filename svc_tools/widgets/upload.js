// Send a file of the reader's machine to the kernel, piece by piece: each waits for the one before.

function render({ model, el }) {
  el.classList.add("svc-action");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "svc-native";
  const input = document.createElement("input");
  input.type = "file";
  input.hidden = true;
  const said = document.createElement("span");
  said.className = "svc-action-said";
  said.setAttribute("role", "status");
  said.setAttribute("aria-live", "polite");

  let coming = null; // the file under way: who, the file, where the next piece begins
  const say = (text) => { said.textContent = text; };
  const draw = () => {
    button.textContent = model.get("label");
    input.accept = model.get("accept");
    button.setAttribute("aria-disabled", String(model.get("disabled")));
  };

  const next = async () => {
    const { who, file, at } = coming;
    if (at >= file.size) {
      coming.ended = true;
      model.send({ say: "end", who, size: file.size });
      return;
    }
    let bytes;
    try {
      bytes = await file.slice(at, at + model.get("piece")).arrayBuffer();
    } catch {
      coming = null;
      model.send({ say: "drop", who });
      say("The file cannot be read: it may have been moved or changed");
      return;
    }
    if (coming === null || coming.who !== who) return;
    coming.at += bytes.byteLength;
    model.send({ say: "piece", who }, undefined, [bytes]);
  };

  const heard = (message) => {
    if (coming === null || message.who !== coming.who) return;
    if (message.tell === "trouble") {
      coming = null;
      say("");
    } else if (coming.ended) {
      say(`Uploaded: ${coming.file.name}`);
      coming = null;
    } else {
      if (coming.file.size > model.get("piece")) {
        say(`Uploading: ${Math.floor((100 * coming.at) / coming.file.size)}%`);
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
      say(`${file.name} is too large to be uploaded: give its path instead`);
      return;
    }
    const who = crypto.getRandomValues(new Uint32Array(2)).join("-");
    coming = { who, file, at: 0, ended: false };
    say(`Uploading: ${file.name}`);
    model.send({ say: "begin", who, name: file.name });
  };

  button.addEventListener("click", choose);
  input.addEventListener("change", chosen);
  model.on("change:label change:accept change:disabled", draw);
  model.on("msg:custom", heard);
  draw();
  el.append(button, input, said);
  return () => {
    model.off("change:label change:accept change:disabled", draw);
    model.off("msg:custom", heard);
  };
}

export default { render };
