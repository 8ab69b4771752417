// The functions of the add-in: the calls of a moment are sent in one request to the local server.
//
// Excel passes the contents of cells; nothing is computed here. The server fills in its address, its
// token and the list of functions.
(() => {
  "use strict";

  const config = __CONFIG__;

  const WINDOW_MS = 20; // how long calls are gathered
  const MOST_CALLS = 20_000; // of one request
  const MOST_CHARACTERS = 4_000_000; // of one request; a single larger call is sent alone

  const NO_SERVER =
    `The local server does not respond: start \`${config.start}\`, then recalculate`;
  const NO_TOKEN =
    "The local server does not know this add-in: load the manifest that" +
    " `svc-tools excel serve` names into Excel again";
  const TOO_LATE =
    `The local server did not respond in time: start \`${config.start}\` again, then recalculate`;
  const NO_SENSE = "The response of the local server cannot be read: are two versions mixed?";

  let waiting = new Map(); // the text of a call -> the cells that wait for it, and its rows
  let timer = null;

  // --- from the cells -----------------------------------------------------------------------------

  /** An error value of the sheet, in any of the forms that Excel passes; else null. */
  function errorIn(value) {
    if (typeof value.code === "string") return value.code; // CustomFunctions.Error
    if (value.basicType === "Error" || value.type === "Error") {
      return String(value.basicValue ?? "#VALUE!");
    }
    return null;
  }

  function cell(value, keepsZeros) {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") {
      if (!Number.isFinite(value)) return { error: "#NUM!" };
      return value === 0 && !keepsZeros ? "" : value; // an empty cell may come as 0
    }
    if (typeof value !== "object") return value;
    const error = errorIn(value);
    if (error !== null) return { error };
    if (value.basicType === "Empty" || value.type === "Empty") return "";
    // a number with its format, a text or an entity of a data type
    return "basicValue" in value ? cell(value.basicValue, keepsZeros) : { error: "#VALUE!" };
  }

  /** An argument as the server reads it: null where left out, a scalar, or rows. */
  function argument(value, keepsZeros) {
    if (value === null || value === undefined) return null;
    if (!Array.isArray(value)) return cell(value, keepsZeros);
    const rows = value.map((row) =>
      (Array.isArray(row) ? row : [row]).map((one) => cell(one, keepsZeros)),
    );
    return rows.length === 1 && rows[0].length === 1 ? rows[0][0] : rows;
  }

  // --- into the cells -----------------------------------------------------------------------------

  function failure(kind, message) {
    const { notAvailable, invalidValue } = CustomFunctions.ErrorCode;
    return new CustomFunctions.Error(kind === "value" ? invalidValue : notAvailable, message);
  }

  function shown(value) {
    if (value === null || value === undefined) return ""; // null would be shown as 0
    return typeof value === "object" ? failure(value.e, value.m) : value;
  }

  function settle(callers, result) {
    if (result && "v" in result) {
      const rows = Array.isArray(result.v) ? result.v : [[result.v]];
      for (const one of callers) one.resolve(rows.map((row) => row.map(shown)));
    } else {
      const { e, m } = result && "e" in result ? result : { e: "na", m: NO_SENSE };
      for (const one of callers) one.reject(failure(e, m));
    }
  }

  // --- requests -----------------------------------------------------------------------------------

  /** Send calls, once: a recalculation sends again what failed. */
  async function request(calls) {
    const places = calls.reduce((sum, [, { rows }]) => sum + rows, 0);
    const late = new AbortController();
    // the server has given up before: it is stuck, or another program has its port
    const timer = setTimeout(() => late.abort(), 2 * (config.patience + config.per_place * places));
    try {
      const found = await results(calls.map(([text]) => text), late.signal);
      if (found.length !== calls.length) throw new Error(NO_SENSE);
      calls.forEach(([, { callers }], at) => settle(callers, found[at]));
    } catch (error) {
      const m = late.signal.aborted ? TOO_LATE : error.message;
      for (const [, { callers }] of calls) settle(callers, { e: "na", m });
    } finally {
      clearTimeout(timer);
    }
  }

  /** The results of calls. `svcSince` is the pane's: the last refresh of this workbook. */
  async function results(texts, signal) {
    let response;
    try {
      response = await fetch(config.url, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${config.token}` },
        body: `{"since":${JSON.stringify(globalThis.svcSince ?? null)},"calls":[${texts.join(",")}]}`,
        cache: "no-store",
        credentials: "omit",
        referrerPolicy: "no-referrer",
        signal,
      });
    } catch {
      throw new Error(NO_SERVER);
    }
    if (response.status === 401 || response.status === 403) throw new Error(NO_TOKEN);
    let content;
    try {
      content = await response.json();
    } catch {
      throw new Error(response.ok ? NO_SENSE : `The local server failed (${response.status})`);
    }
    if (!response.ok) throw new Error(content?.error?.message ?? NO_SENSE);
    if (!Array.isArray(content?.results)) throw new Error(NO_SENSE);
    return content.results;
  }

  /** Send the waiting calls: one request, or a few where they are too large for one. */
  function send() {
    const calls = [...waiting].filter(([, { callers }]) => callers.size > 0); // some were canceled
    waiting = new Map();
    timer = null;
    let part = [];
    let characters = 0;
    for (const call of calls) {
      const full = part.length === MOST_CALLS || characters + call[0].length > MOST_CHARACTERS;
      if (part.length > 0 && full) {
        request(part);
        part = [];
        characters = 0;
      }
      part.push(call);
      characters += call[0].length;
    }
    if (part.length > 0) request(part);
  }

  function call(described, given, invocation) {
    const a = given.map((value, at) => argument(value, described.zeros.includes(at)));
    while (a.length > 0 && a[a.length - 1] === null) a.pop();
    const text = JSON.stringify({ f: described.f, a });
    return new Promise((resolve, reject) => {
      const caller = { resolve, reject };
      const rows = Math.max(1, ...a.map((one) => (Array.isArray(one) ? one.length : 1)));
      if (!waiting.has(text)) waiting.set(text, { callers: new Set(), rows });
      const { callers } = waiting.get(text);
      callers.add(caller);
      timer ??= setTimeout(send, WINDOW_MS);
      if (!invocation) return;
      invocation.onCanceled = () => {
        callers.delete(caller);
        reject(failure("na", "Canceled"));
      };
    });
  }

  function associate() {
    for (const described of config.functions) {
      CustomFunctions.associate(described.id, (...all) =>
        call(described, all.slice(0, -1), all[all.length - 1]), // Excel adds the invocation
      );
    }
  }

  if ("CustomFunctions" in globalThis) associate();
  else globalThis.Office?.onReady(associate);
})();
