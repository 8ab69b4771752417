// Days as numbers. The server counts them from 1900; a workbook may count from 1904 (old Macs did),
// and a day would silently be one of four years before. So Excel is asked, once, where one stands.
const svcDays = (() => {
  "use strict";

  const FIRST_DAY_OF_2000 = 36_526; // where the count begins in 1900
  const HEADINGS = ["state", "zip", "address", "city", "place", "lat", "lng", "as_of"];
  const UNKNOWN =
    "Excel did not say from which year this workbook counts its days: recalculate, or give the day" +
    " as text, such as 2026-05-01";

  class UnknownCount extends Error {}

  let asked = null;

  /** The call with every number that stands for a day changed. */
  function changed({ described, f, a }, change) {
    const cell = (value) => (typeof value === "number" ? change(value) : value);
    const { day, rows } = described; // the argument that is a day; whether the first is a table
    if (!rows) {
      const cells = (one) => (Array.isArray(one) ? one.map((row) => row.map(cell)) : cell(one));
      return { f, a: a.map((one, at) => (at === day ? cells(one) : one)) };
    }
    if (!Array.isArray(a[0])) return { f, a };
    const headings = a[0][0].map((one) => String(one).trim().toLowerCase().replace(/\s+/g, "_"));
    const named = headings.some((one) => HEADINGS.includes(one)); // else the third is the day
    const column = named ? headings.indexOf("as_of") : 2;
    const table = a[0].map((row) => row.map((one, at) => (at === column ? cell(one) : one)));
    return { f, a: [table, ...a.slice(1)] };
  }

  function hasDay(call) {
    let found = false;
    changed(call, () => (found = true));
    return found;
  }

  const moved = (call, days) => changed(call, (day) => day + days);

  async function ask() {
    try {
      return await Excel.run(async (context) => {
        const first = context.workbook.functions.date(2000, 1, 1);
        first.load("value");
        await context.sync();
        if (!Number.isFinite(first.value)) throw new Error(UNKNOWN);
        return FIRST_DAY_OF_2000 - first.value;
      });
    } catch {
      asked = null; // the next question asks again
      throw new UnknownCount(UNKNOWN);
    }
  }

  /** How many days the workbook's count is behind; 0 where no host could count otherwise. */
  async function behind() {
    if (!globalThis.Excel?.run) return 0;
    asked ??= ask();
    return asked;
  }

  return { UnknownCount, behind, hasDay, moved };
})();
