// The lookup form: one place, by the functions of the cells; its formula or value goes into a cell.
"use strict";

const svcLookup = (() => {
  const PLACE = ["resolved_city", "resolved_county", "resolved_state", "resolved_zip"];
  const SOURCE = ["lookup_source", "lookup_edition", "looked_up_at", "lookup_as_of"];
  const RESULT = ["lookup_status", "needs_review", "lookup_review_reason", "warnings", "confidence"];
  const FIELDS = [...RESULT, "rate_low", "rate_high", ...PLACE, ...SOURCE];
  const AMOUNT = /^-?\$?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?$/;
  const NO_TAX = "not computed: SVC.TAX takes a ZIP Code, not an address";
  const $ = (id) => /** @type {HTMLInputElement} */ (document.getElementById(id));
  const meanings = JSON.parse(document.querySelector("main").dataset.meanings);
  const meaning = (code) => meanings[code] ?? meanings[code.split(":")[0]] ?? code;
  const sentence = (text) => text[0].toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");
  const percent = (rate) => `${Number((rate * 100).toFixed(3))}%`;
  const dollars = (amount) => amount.toLocaleString("en-US", { style: "currency", currency: "USD" });
  const written = (value, how) => (typeof value === "number" ? how(value) : value); // else #PARTIAL
  const list = (facts, names, between) => names.map((name) => facts[name]).filter(Boolean).join(between);
  const codes = (cell) => cell.split("; ").filter(Boolean);

  let lookup = null; // what is shown; null as soon as a field changes

  /** The content of the form; null where a field is wrong, which then has the focus. */
  function given(fault) {
    const fields = ["state", "place", "day", "amount"];
    const [state, place, day, amount] = fields.map((name) => $(`lookup-${name}`).value.trim());
    fault("lookup-place", place ? "" : "Give a ZIP Code or a street address.");
    fault("lookup-day", $("lookup-day").validity.badInput ? "Give the whole date, or none for today." : "");
    fault("lookup-amount", !amount || AMOUNT.test(amount) ? "" : "Give dollars and cents, such as 1234.56.");
    const wrong = /** @type {HTMLElement} */ (document.querySelector("#lookup-form [aria-invalid]"));
    wrong?.focus();
    if (wrong) return null;
    const number = amount ? Number(amount.replace(/[$,]/g, "")) : null;
    return { state, place, day: day || null, amount: number, isZip: /^[\d\s-]+$/.test(place) };
  }

  /** The calls of a query: the rate, what is known of it, and the tax of an amount. */
  function calls({ state, place, day, amount, isZip }) {
    const range = [["state", isZip ? "zip" : "address"], [state, place]];
    if (day) [["as_of"], [day]].forEach((cells, row) => range[row].push(...cells));
    const rate = isZip ? ["SVC_RATE", state, place] : ["SVC_RATE_ADDRESS", state, place, null, null];
    const all = [[...rate, day], ["SVC_LOOKUP", range, FIELDS.join(", ")]];
    if (isZip && amount !== null) all.push(["SVC_TAX", amount, state, place, day]);
    return all.map(([f, ...a]) => ({ f, a }));
  }

  /** A call as it is typed into a cell; its last argument is the day. */
  function formula({ f, a }) {
    const parts = a.map((one) => {
      if (one === null) return "";
      return typeof one === "number" ? String(one) : `"${one.replaceAll('"', '""')}"`;
    });
    const day = a[a.length - 1];
    parts[a.length - 1] = day && `DATE(${day.split("-").map(Number).join(", ")})`;
    while (!parts[parts.length - 1]) parts.pop();
    return `=SVC.${f.slice(4)}(${parts.join(", ")})`;
  }

  function row(name, texts, state) {
    const line = document.createElement("div");
    const add = (tag, text) => line.appendChild(Object.assign(document.createElement(tag), { textContent: text }));
    add("dt", name);
    for (const text of texts) add("dd", text);
    if (state) line.dataset.state = state;
    return line;
  }

  /** What is shown of a result, as rows; a rate that requires review never looks like another. */
  function rows(query, rate, facts, tax) {
    if (!("v" in rate)) return [row("No rate", [rate.m], "bad")];
    const remarks = new Set([...codes(facts.lookup_review_reason), ...codes(facts.warnings)]);
    remarks.delete("partial"); // its warnings say what is missing
    const shown = [row("Rate", [written(rate.v, percent)], "rate")];
    if (query.amount !== null) {
      const text = tax && ("v" in tax ? `${written(tax.v, dollars)} on ${dollars(query.amount)}` : tax.m);
      shown.push(row("Tax", [text ?? NO_TAX], tax && "v" in tax && "rate"));
    }
    const isReview = facts.lookup_status === "ok" && facts.needs_review;
    const status = isReview ? "review" : facts.lookup_status; // the word of SVC_STATUS
    shown.push(row("Status", [status], status === "ok" ? "good" : "warn"));
    if (remarks.size) {
      shown.push(row("Warnings", [...remarks].map((code) => sentence(meaning(code))), "warn"));
    }
    if (facts.rate_low !== facts.rate_high) {
      shown.push(row("Rates there", [`${percent(facts.rate_low)} to ${percent(facts.rate_high)}`]));
    }
    shown.push(row("Confidence", [`${facts.confidence}: ${meaning(facts.confidence)}`]));
    shown.push(row("Place", [list(facts, PLACE, ", ")]));
    shown.push(row("Source", [list(facts, SOURCE.slice(0, 2), ", edition ")]));
    return shown;
  }

  function draw(shown) {
    $("result").replaceChildren(...shown);
    $("insert-formula").hidden = !lookup;
    $("insert-value").hidden = typeof lookup?.value !== "number";
    $("inserting").hidden = !lookup;
  }

  function start({ onPress, show, request, fault, put, check }) {
    async function lookUp() {
      const query = given(fault);
      lookup = null;
      draw([]);
      if (!query) return;
      show("lookup-message", "Looking up …");
      const sent = calls(query);
      const form = $("lookup-form");
      let changed = false;
      form.addEventListener("input", () => (changed = true), { once: true });
      const { results, problem, error } = await request("POST", "batch", { calls: sent, since: globalThis.svcSince });
      if (changed) return show("lookup-message", "A field was changed: look up again.");
      if (!results) {
        return show("lookup-message", error?.message ?? `${problem.title}. ${problem.what_to_do}`);
      }
      show("lookup-message", "");
      const [rate, table, tax] = results;
      const facts = Object.fromEntries(FIELDS.map((name, at) => [name, table.v?.[0][at] ?? ""]));
      const result = tax ?? rate;
      if ("v" in result) {
        const why = codes(facts.lookup_review_reason).map(meaning).join("; ");
        const note = [
          `${query.state} ${query.place} on ${facts.lookup_as_of}`.trim(),
          list(facts, SOURCE.slice(0, 2), ", edition "),
          `looked up ${facts.looked_up_at}${why && `; review: ${why}`}`,
        ];
        lookup = { formula: formula(tax ? sent[2] : sent[0]), value: result.v, note: note.join("; ") };
      }
      draw(rows(query, rate, facts, tax));
      await check();
    }

    $("lookup-day").value = new Date().toLocaleDateString("sv-SE"); // 2026-05-01
    $("lookup-form").addEventListener("input", () => {
      lookup = null;
      draw([]);
    });
    onPress("look-up", lookUp);
    onPress("insert-formula", () => put("lookup-message", lookup.formula));
    onPress("insert-value", () => put("lookup-message", lookup.value, lookup.note));
  }
  return { start };
})();
