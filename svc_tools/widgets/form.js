// A native form: labels, help and errors tied to their inputs, Enter sends it. All values travel
// in ONE message, so a slow page can never send an old text with a new click. A password is in
// that message alone: it is never in the model, and its field is emptied at once.

function make(tag, attributes = {}, text = "") {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== "" && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  if (text) node.textContent = text;
  return node;
}

function oneField(field, key, changed) {
  const id = `svc-form-${key}-${field.name}`;
  const group = field.kind === "radio";
  const box = make(group ? "fieldset" : "div", { class: `svc-field svc-${field.width}` });
  const inputs = [];
  if (group) {
    box.append(make("legend", {}, field.label));
    const row = make("div", { class: "svc-choices" });
    for (const [value, label] of field.options) {
      const choice = make("label", { class: "svc-choice" });
      const input = make("input", { type: "radio", name: id, value });
      choice.append(input, make("span", {}, label));
      row.append(choice);
      inputs.push(input);
    }
    box.append(row);
  } else if (field.kind === "menu") {
    box.append(make("label", { for: id }, field.label));
    const menu = make("select", { id });
    for (const [value, label] of field.options) menu.add(new Option(label, value));
    box.append(menu);
    inputs.push(menu);
  } else {
    box.append(make("label", { for: id }, field.label));
    const secret = field.kind === "password";
    const input = make("input", {
      id,
      type: secret ? "password" : field.kind === "date" ? "date" : "text",
      placeholder: field.placeholder,
      inputmode: field.inputmode,
      autocomplete: secret ? "new-password" : "off",
      spellcheck: "false",
      maxlength: field.longest,
    });
    if (field.kind === "combo") {
      const list = make("datalist", { id: `${id}-list` });
      for (const [value, label] of field.options) list.append(make("option", { value, label }));
      input.setAttribute("list", list.id);
      box.append(list);
    }
    box.append(input);
    inputs.push(input);
  }
  const help = make("p", { id: `${id}-help`, class: "svc-help" }, field.help);
  const error = make("p", { id: `${id}-error`, class: "svc-error" });
  if (field.help) box.append(help);
  box.append(error);
  for (const input of inputs) {
    input.addEventListener("change", changed);
    input.setAttribute("aria-describedby", `${error.id}${field.help ? ` ${help.id}` : ""}`);
  }
  return {
    field,
    box,
    inputs,
    get value() {
      if (group) return inputs.find((one) => one.checked)?.value ?? "";
      return inputs[0].value;
    },
    set value(value) {
      if (group) for (const one of inputs) one.checked = one.value === value;
      else if (inputs[0].value !== value) inputs[0].value = value;
    },
    report(text) {
      error.textContent = text;
      for (const input of inputs) {
        if (text) input.setAttribute("aria-invalid", "true");
        else input.removeAttribute("aria-invalid");
      }
    },
  };
}

function render({ model, el }) {
  // each form has a module of its own: a counter would start again in each
  const key = Math.random().toString(36).slice(2);
  const form = make("form", { class: "svc-form", novalidate: "novalidate" });
  if (model.get("label")) form.setAttribute("aria-label", model.get("label"));
  const fields = model.get("fields").map((field) => oneField(field, key, changed));
  const secret = (one) => one.field.kind === "password";
  const row = make("div", { class: "svc-actions" });
  const submit = make("button", { type: "submit", class: "svc-native svc-native-primary" });
  const cancel = make("button", { type: "button", class: "svc-native" });
  submit.textContent = model.get("submit_label");
  cancel.textContent = model.get("cancel_label");
  row.append(submit, cancel);
  const line = make("div", { class: "svc-fields" });
  const folded = fields.filter((one) => one.field.folded);
  line.append(...fields.filter((one) => !one.field.folded).map((one) => one.box));
  form.append(line, row);
  const fold = make("details", { class: "svc-fold" });
  if (folded.length) {
    fold.append(make("summary", {}, model.get("fold_label")), ...folded.map((one) => one.box));
    form.append(fold);
  }
  el.append(form);

  function values(withSecrets) {
    const chosen = fields.filter((one) => withSecrets || !secret(one));
    return Object.fromEntries(chosen.map((one) => [one.field.name, one.value]));
  }
  function changed() {
    show();
    model.set("values", values(false));
    model.save_changes();
  }
  function show() {
    const now = values(false);
    for (const one of fields) {
      const [name, ...wanted] = one.field.shown_with;
      one.box.hidden = name !== undefined && !wanted.includes(now[name]);
    }
  }
  function fill() {
    const given = model.get("values");
    for (const one of fields) if (!secret(one)) one.value = given[one.field.name] ?? "";
    if (folded.some((one) => one.value !== one.field.value)) fold.open = true;
    show();
  }
  function report() {
    const errors = model.get("errors");
    for (const one of fields) one.report(errors[one.field.name] ?? "");
    return errors;
  }
  function complain() {
    const errors = report();
    const first = fields.find((one) => errors[one.field.name]);
    if (first) first.inputs[0].focus();
  }
  function busy() {
    const running = model.get("busy");
    // not "disabled": the focus would be lost
    submit.setAttribute("aria-disabled", String(running));
    cancel.hidden = !(running && model.get("cancel_label"));
    form.setAttribute("aria-busy", String(running));
    if (!running && document.activeElement === document.body && form.dataset.cancelled) {
      submit.focus();
    }
    delete form.dataset.cancelled;
  }
  // JupyterLab keeps Enter from sending a form by itself
  form.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.target.tagName !== "INPUT") return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (model.get("busy")) return;
    // the value of a date that is typed in part is empty, which may mean something else
    const part = fields.find((one) => !one.box.hidden && one.inputs.some((i) => i.validity.badInput));
    report();
    if (part) {
      part.report("This date is not complete.");
      part.inputs[0].focus();
      return;
    }
    model.send({ event: "submit", values: values(true) });
    for (const one of fields) if (secret(one)) one.value = "";
  });
  cancel.addEventListener("click", () => {
    form.dataset.cancelled = "true";
    model.send({ event: "cancel" });
  });
  model.on("change:values", fill);
  model.on("change:errors", complain);
  model.on("change:busy", busy);
  fill();
  busy();
  if (Object.keys(model.get("errors")).length) complain();
  return () => {
    model.off("change:values", fill);
    model.off("change:errors", complain);
    model.off("change:busy", busy);
  };
}

export default { render };
