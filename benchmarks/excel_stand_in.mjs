// Stands in for Excel: loads the add-in's functions from a server and calls them as a sheet does.
//
// It reads JSON from its standard input: {"script": address of functions.js, "bursts": [[call, ...],
// ...]}, where a call is {"id", "args", "cancel"?}. The calls of a burst are made together, the
// bursts one after the other. Values that JSON lacks: {"$error": "#N/A"} is a
// CustomFunctions.Error, {"$undefined": true} undefined, {"$nan": true} NaN. {"since": moment} in place
// of a burst is a refresh by the pane. It writes what every cell shows, and what was sent.
import vm from "node:vm";

class CustomFunctionsError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

const associated = new Map();
globalThis.CustomFunctions = {
  associate: (id, made) => associated.set(id, made),
  Error: CustomFunctionsError,
  ErrorCode: { invalidValue: "#VALUE!", notAvailable: "#N/A" },
};

const AT_ONCE = 6; // as many questions as a browser has under way to one server
const sent = [];
const turns = [];
let underWay = 0;
const reallyFetch = globalThis.fetch;
globalThis.fetch = async (url, options) => {
  const headers = new Headers(options.headers);
  sent.push({
    url,
    method: options.method,
    authorization: headers.get("authorization"),
    calls: JSON.parse(options.body).calls.length,
    characters: options.body.length,
  });
  if (underWay === AT_ONCE) await new Promise((turn) => turns.push(turn));
  else underWay += 1;
  try {
    const response = await reallyFetch(url, options);
    await response.clone().arrayBuffer(); // all of it has come
    return response;
  } finally {
    const next = turns.shift();
    if (next) next();
    else underWay -= 1;
  }
};

function handedOver(value) {
  if (Array.isArray(value)) return value.map(handedOver);
  if (value === null || typeof value !== "object") return value;
  if ("$error" in value) return new CustomFunctionsError(value.$error);
  if ("$undefined" in value) return undefined;
  if ("$nan" in value) return Number.NaN;
  return value;
}

function seen(value) {
  if (Array.isArray(value)) return value.map(seen);
  if (value instanceof CustomFunctionsError) return { error: value.code, message: value.message };
  return value === undefined ? { undefined: true } : value;
}

async function invoked({ id, args, cancel }) {
  const invocation = {};
  const made = associated.get(id);
  const promise = made(...args.map(handedOver), invocation);
  if (cancel) invocation.onCanceled();
  try {
    return seen(await promise);
  } catch (error) {
    return seen(error);
  }
}

const chunks = [];
for await (const chunk of process.stdin) chunks.push(chunk);
const { script, bursts, warm } = JSON.parse(Buffer.concat(chunks).toString("utf8"));

const source = script.startsWith("http") ? await (await reallyFetch(script)).text() : script;
vm.runInThisContext(source, { filename: "functions.js" });
for (const call of warm ?? []) await invoked(call); // what is timed is not the first question
sent.length = 0;

const started = performance.now();
const shown = [];
for (const burst of bursts) {
  if (Array.isArray(burst)) shown.push(await Promise.all(burst.map(invoked)));
  else globalThis.svcSince = burst.since; // as the pane sets it
}
const ms = performance.now() - started;
console.log(JSON.stringify({ ids: [...associated.keys()], shown, sent, ms }));
