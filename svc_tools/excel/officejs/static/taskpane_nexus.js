// Registrations: those of the account are listed; one is added once its request was shown and its state
// typed. The server checks what was typed, too.
"use strict";

const svcNexus = (() => {
  const FIELDS = ["state", "nexus_type", "registered_at", "address", "notes"];
  const $ = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
  const sentences = (problem) => [problem.title, problem.text, problem.what_to_do]
    .filter(Boolean)
    .map((one) => (one.endsWith(".") ? one : `${one}.`))
    .join(" ");

  let planned = null; // the record whose request is shown; null as soon as a field changes

  function row(cells, tag) {
    const line = document.createElement("tr");
    for (const text of cells) line.appendChild(document.createElement(tag)).textContent = text;
    return line;
  }

  function draw(rows) {
    const lines = rows.map(([state, type, day, ...texts]) => [`${state} ${type}`, day, texts.filter(Boolean).join("; ")]);
    const heading = row(["State, type", "Since", "Address, notes"], "th");
    $("nexus-rows").replaceChildren(...(lines.length ? [heading, ...lines.map((one) => row(one, "td"))] : []));
  }

  /** Show the request of a record, to be confirmed; or nothing. */
  function ask(record, plan) {
    planned = record;
    $("nexus-confirm").hidden = !record;
    $("nexus-typed").value = "";
    if (!record) return;
    $("nexus-requests").textContent = plan.requests.join("\n") || "No request: an earlier one was sent.";
    $("nexus-notes-text").textContent = plan.notes;
    $("nexus-label").textContent = `Type ${plan.state}, the state, to add the registration`;
    $("nexus-typed").focus();
  }

  function start({ onPress, show, request, fault, recalculate }) {
    let changed = false;

    async function list() {
      const { rows, message, problem } = await request("GET", "nexus");
      draw(rows ?? []);
      return problem ? sentences(problem) : message;
    }

    onPress("nexus-list", async () => {
      show("nexus-message", "Listing …");
      show("nexus-message", await list());
    });
    onPress("nexus-preview", async () => {
      ask(null);
      fault("nexus-typed", "");
      if ($("nexus-registered_at").validity.badInput) {
        return show("nexus-message", "Give the whole date, or none.");
      }
      const record = Object.fromEntries(FIELDS.map((name) => [name, $(`nexus-${name}`).value.trim()]));
      changed = false;
      show("nexus-message", "Checking …");
      const plan = await request("POST", "nexus", { record });
      if (changed) return show("nexus-message", "A field was changed: preview again.");
      show("nexus-message", plan.problem ? sentences(plan.problem) : plan.message);
      if (plan.confirm) ask(record, plan);
    });
    onPress("nexus-add", async () => {
      if (!planned) return;
      const result = await request("POST", "nexus", { record: planned, typed: $("nexus-typed").value });
      const { problem } = result;
      fault("nexus-typed", problem?.field ? sentences(problem) : "");
      if (problem?.field) return $("nexus-typed").focus();
      ask(null);
      $("nexus-preview").focus();
      if (problem) return show("nexus-message", sentences(problem));
      const done = `${result.message} ${await recalculate()}`;
      await list();
      show("nexus-message", done);
    });
    onPress("nexus-cancel", async () => {
      ask(null);
      show("nexus-message", "Nothing was changed.");
      $("nexus-preview").focus();
    });
    $("nexus-form").addEventListener("submit", (event) => event.preventDefault());
    $("nexus-form").addEventListener("input", () => {
      changed = true;
      if (!planned) return;
      ask(null);
      show("nexus-message", "A field was changed: preview again.");
    });
  }
  return { start };
})();
