// The task pane: the service, refresh, the key, and the functions; the lookup form and freezing have
// files of their own. Requests go to the local server
// only; the key is sent once, and its field is emptied before that.
"use strict";

const svcPane = (() => {
  const TOKEN = new URLSearchParams(location.search).get("token") ?? "";
  const GONE = {
    title: "The local server does not respond",
    text: "The functions and this pane need it.",
    what_to_do: `Start it with: svc-tools excel serve. Then press Check again.`,
  };
  const STRANGE = {
    title: "The local server does not know this pane",
    text: "Its address is that of an earlier run of the server.",
    what_to_do: "Close the pane and open it from the ribbon, or from the address that is printed.",
  };
  const FAILED = {
    title: "The local server failed",
    what_to_do: "Try again. If it fails again, stop the server, and start it with: svc-tools excel serve.",
  };
  const $ = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
  const all = (selector) => /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(selector));
  const excel = () => globalThis.Excel?.run !== undefined;

  async function request(method, path, body) {
    let response;
    try {
      response = await fetch(path, {
        method,
        headers: { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" },
        body: body === undefined ? undefined : JSON.stringify(body),
        cache: "no-store",
      });
    } catch {
      return { problem: GONE };
    }
    if (response.status === 401 || response.status === 403) return { problem: STRANGE };
    try {
      const result = await response.json();
      const { error } = result;
      return error ? { error, problem: { ...FAILED, text: error.message } } : result;
    } catch {
      return { problem: { ...GONE, text: `The response has status ${response.status}.` } };
    }
  }

  // a live region is read out when its text changes: the same words twice are no change
  const later = {};
  function show(id, text) {
    clearTimeout(later[id]);
    $(id).textContent = "";
    if (text) later[id] = setTimeout(() => ($(id).textContent = text), 30);
  }

  function showProblem(problem) {
    const box = $("problem");
    box.hidden = !problem;
    if (!problem) return;
    box.querySelector(".title").textContent = problem.title;
    box.querySelector(".text").textContent = problem.text;
    box.querySelector(".what").textContent = problem.what_to_do;
    box.querySelector(".reference").toggleAttribute("hidden", !problem.reference);
    box.querySelector(".reference code").textContent = problem.reference ?? "";
  }

  function moment(iso) {
    if (!iso) return "–";
    return new Date(iso).toLocaleString("sv-SE").slice(0, 16); // 2026-05-01 14:30, everywhere
  }

  function draw(status) {
    const ok = !status.problem;
    $("state").textContent = ok ? "Connected" : "Not connected";
    $("state").dataset.state = ok ? "good" : "bad";
    showProblem(status.problem);
    if (status.service === undefined) return; // the local server itself is gone
    $("service").textContent = status.service;
    $("source").textContent = status.source;
    $("source").hidden = !status.source;
    $("cached").textContent = status.cached.toLocaleString("en-US");
    $("oldest").textContent = moment(status.oldest);
    $("spent").textContent = status.spent.toLocaleString("en-US");
    $("left").textContent = status.left?.toLocaleString("en-US") ?? "no limit known";
    $("notes").textContent = status.notes;
    $("notes").hidden = !status.notes;
    $("locked").textContent = status.locked ?? "";
    $("locked").hidden = !status.locked;
    $("key-form").hidden = $("other").hidden = $("embedded-help").hidden = Boolean(status.locked);
    $("forget").hidden = !status.has_key;
    $("embedded").hidden = $("embedded-help").hidden = Boolean(status.locked) || status.embedded;
    $("other").hidden = $("forget").hidden && $("embedded").hidden;
    const address = $("address");
    if (address !== document.activeElement && !address.value) address.value = status.address;
  }

  async function check() {
    $("state").textContent = "Checking …";
    delete $("state").dataset.state;
    const source = document.querySelector(".source");
    source.setAttribute("aria-busy", "true");
    const status = await request("GET", "status");
    source.setAttribute("aria-busy", "false");
    draw(status);
    return status;
  }

  // one act at a time; not "disabled": the focus would be lost
  let busy = false;
  function onPress(id, act) {
    $(id).addEventListener("click", async (event) => {
      event.preventDefault();
      if (busy) return;
      busy = true;
      for (const one of all("button")) one.setAttribute("aria-disabled", "true");
      try {
        await act();
      } finally {
        busy = false;
        for (const one of all("button")) one.removeAttribute("aria-disabled");
      }
    });
  }

  async function recalculate() {
    if (!excel()) return "Recalculate the workbook to see it.";
    try {
      await Excel.run(async (context) => {
        context.workbook.application.calculate(Excel.CalculationType.full);
        await context.sync();
      });
      return "The workbook is recalculated.";
    } catch {
      return "Excel did not recalculate: press Ctrl+Alt+F9 when no cell is being edited.";
    }
  }

  function fault(field, text) {
    $(`${field}-error`).textContent = text;
    if (text) $(field).setAttribute("aria-invalid", "true");
    else $(field).removeAttribute("aria-invalid");
  }

  async function useKey() {
    const address = $("address").value.trim();
    let key = $("key").value.trim();
    fault("address", address ? "" : "Give the address of the service, such as https://rates.example.");
    fault("key", key ? "" : "Give the API key of your account.");
    if (!address || !key) {
      $(address ? "key" : "address").focus();
      return;
    }
    $("key").value = "";
    show("key-message", "Checking …");
    const sent = request("POST", "key", { address, key });
    key = "";
    await settled(await sent);
  }

  // the result of a change of the service or key
  async function settled(result) {
    const { problem } = result;
    if (problem) {
      show("key-message", "");
      const field = problem.field ?? "key";
      const reference = problem.reference ? `For support: ${problem.reference}` : "";
      const lines = [problem.title, problem.text, reference, problem.what_to_do].filter(Boolean);
      fault(field, lines.map((one) => (one.endsWith(".") ? one : `${one}.`)).join(" "));
      $(field).focus();
      return;
    }
    show("key-message", `${result.message} ${await recalculate()}`);
    $("address").value = "";
    await check();
  }

  async function chosen(method, path) {
    fault("address", "");
    fault("key", "");
    await settled(await request(method, path));
  }

  /** Put a formula or a number into the selected cell, with a note; without a workbook copy it. */
  async function put(message, content, note = "") {
    if (!excel()) {
      try {
        await navigator.clipboard.writeText(String(content));
        show(message, `Copied: ${content}`);
      } catch {
        show(message, `Copy it by hand: ${content}`);
      }
      return;
    }
    const noted = note && globalThis.Office?.context?.requirements?.isSetSupported("ExcelApi", "1.18");
    try {
      const text = await Excel.run(async (context) => {
        const cell = context.workbook.getSelectedRange().getCell(0, 0);
        cell.load("address,formulas,numberFormat");
        await context.sync();
        if (cell.formulas[0][0] !== "") return `${cell.address} is not empty: choose an empty cell.`;
        if (cell.numberFormat[0][0] === "@") {
          return `${cell.address} is formatted as text, which computes nothing: choose another cell.`;
        }
        cell.formulas = [[content]];
        if (noted) context.workbook.notes.add(cell, note);
        await context.sync();
        return `${content} is in ${cell.address}.`;
      });
      show(message, text);
    } catch {
      show(message, "Excel did not take it: choose one empty cell, then try again.");
    }
  }

  function theme() {
    const host = globalThis.Office?.context?.officeTheme;
    if (!host?.bodyBackgroundColor) return;
    const parts = host.bodyBackgroundColor.match(/[0-9a-f]{2}/gi).map((two) => parseInt(two, 16));
    const dark = host.isDarkTheme ?? parts[0] * 0.3 + parts[1] * 0.59 + parts[2] * 0.11 < 128;
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.style.setProperty("--paper", host.bodyBackgroundColor);
    document.documentElement.style.setProperty("--ink", host.bodyForegroundColor);
  }

  function inHost() {
    theme();
    if (!excel()) return;
    $("freezing").hidden = false;
    $("functions-note").textContent = "Each with an example for an empty cell.";
    for (const one of all("[data-insert]")) one.textContent = one.dataset.insert;
  }

  function start() {
    onPress("again", async () => {
      show("message", "");
      await check();
    });
    onPress("use-key", useKey);
    onPress("forget", () => chosen("DELETE", "key"));
    onPress("embedded", () => chosen("POST", "embedded"));
    $("key-form").addEventListener("submit", (event) => event.preventDefault());
    for (const one of all("[data-formula]")) {
      one.addEventListener("click", () => put("functions-message", one.dataset.formula));
    }
    svcFreeze.start({ onPress, show, request });
    svcRefresh.start({ onPress, show, request, draw, recalculate, check, excel });
    svcLookup.start({ onPress, show, request, fault, put, check });
    svcNexus.start({ onPress, show, request, fault, recalculate });
    inHost();
    globalThis.Office?.onReady?.().then(inHost);
    check().then((status) => {
      if (status.problem && status.service !== undefined) $("account").setAttribute("open", "");
    });
  }
  return { start };
})();

svcPane.start();
