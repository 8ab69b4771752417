// Freeze: formulas with SVC functions are replaced by their values. The sheet "SVC frozen" notes
// source and date first. Each value was read from its own cell: a freeze that stops loses nothing.
"use strict";

const svcFreeze = (() => {
  const SHEET = "SVC frozen";
  const HEADS = ["sheet", "range", "source", "oldest result", "frozen at"];
  const FACTS = ["values", "valueTypes", "numberFormat"];
  const SVC_CALL = /\bSVC[._][A-Z_]+\s*\(/i;
  const MOST_CELLS = 20_000; // of one read
  const MOST_WRITES = 1_000; // of one step
  const $ = (id) => document.getElementById(id);

  const calls = (text) =>
    typeof text === "string" && text.startsWith("=") && SVC_CALL.test(text.replace(/"[^"]*"/g, '""'));
  // Excel would read "02134" as a number again
  const asText = (value) => (typeof value === "string" && value !== "" ? `'${value}` : value);

  function name(row, column) {
    let letters = "";
    for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
      letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
    }
    return `${letters}${row + 1}`;
  }

  // Excel on the web limits a response to 5 MB: large ranges are read in blocks
  async function read(context, sheet, used, names) {
    const blocks = [];
    const step = Math.max(1, Math.floor(MOST_CELLS / used.columnCount));
    for (let row = 0; row < used.rowCount; row += step) {
      const height = Math.min(step, used.rowCount - row);
      const block = sheet.getRangeByIndexes(used.rowIndex + row, used.columnIndex, height, used.columnCount);
      block.load(`rowIndex,columnIndex,${names}`);
      await context.sync();
      blocks.push(block);
    }
    return blocks;
  }

  const SIZE = "rowIndex,columnIndex,rowCount,columnCount";

  /** The used cells, block after block: each [sheet, block], with these properties loaded. */
  async function blocks(context, whole, names) {
    const areas = [];
    if (whole) {
      const sheets = context.workbook.worksheets;
      sheets.load("items/name");
      await context.sync();
      for (const sheet of sheets.items) areas.push([sheet, sheet.getUsedRangeOrNullObject(true)]);
    } else {
      const selected = context.workbook.getSelectedRange();
      selected.worksheet.load("name");
      areas.push([selected.worksheet, selected.getUsedRangeOrNullObject(true)]);
    }
    for (const [, used] of areas) used.load(SIZE);
    await context.sync();
    const found = [];
    for (const [sheet, used] of areas) {
      if (used.isNullObject || sheet.name === SHEET) continue;
      for (const one of await read(context, sheet, used, names)) found.push([sheet, one]);
    }
    return found;
  }

  // each SVC formula with the block that it fills; those without a complete value have a reason
  async function found(context, whole) {
    const cells = [];
    for (const [sheet, range] of await blocks(context, whole, `formulas,hasSpill,${FACTS}`)) {
      range.formulas.forEach((line, i) =>
        line.forEach((formula, j) => {
          const value = range.values[i][j];
          if (!calls(formula) || value === formula) return; // a text that reads like a formula
          const [row, column] = [range.rowIndex + i, range.columnIndex + j];
          const one = (name) => [[range[name][i][j]]];
          const block = Object.fromEntries(FACTS.map((name) => [name, one(name)]));
          const at = { sheet, row, column, block };
          if (range.hasSpill !== false) {
            at.spill = sheet.getCell(row, column).getSpillingToRangeOrNullObject();
            at.spill.load(FACTS.join(","));
          }
          cells.push(at);
        }),
      );
    }
    await context.sync();
    for (const at of cells) {
      if (at.spill && !at.spill.isNullObject) at.block = at.spill;
      at.why = noValue(at.block);
      at.height = at.block.values.length;
      at.width = at.block.values[0].length;
    }
    return cells;
  }

  /** Why a block cannot become values; "" where it can. */
  function noValue({ values, valueTypes, numberFormat }) {
    const all = values.flat();
    const bad = all.find((value, at) => valueTypes.flat()[at] === "Error" || String(value).startsWith("#"));
    if (bad !== undefined) return `shows ${bad}`;
    return numberFormat.flat().includes("@") ? "is formatted as text, in which a number would become a text" : "";
  }

  /** The sheet of the log, added where it is missing, and its first free row. */
  async function log(context) {
    let sheet = context.workbook.worksheets.getItemOrNullObject(SHEET);
    sheet.load("name");
    await context.sync();
    if (sheet.isNullObject) {
      sheet = context.workbook.worksheets.add(SHEET);
      sheet.getRangeByIndexes(0, 0, 1, HEADS.length).values = [HEADS];
    }
    const used = sheet.getUsedRangeOrNullObject(true);
    const top = sheet.getRangeByIndexes(0, 0, 1, HEADS.length);
    used.load(SIZE);
    top.load("values");
    await context.sync();
    if (HEADS.some((head, at) => String(top.values[0][at]).toLowerCase() !== head)) {
      throw new Error(`the sheet “${SHEET}” has other headings; rename it, then try again`);
    }
    return { sheet, row: used.rowIndex + used.rowCount };
  }

  /** One row of the log for each sheet: where, the source, and the date. */
  function lines(cells, status) {
    const at = new Date().toISOString().slice(0, 19) + "Z";
    return [...new Set(cells.map((one) => one.sheet.name))].map((sheet) => {
      const some = cells.filter((one) => one.sheet.name === sheet);
      const most = (pick, of) => some.map(of).reduce((one, other) => pick(one, other));
      const first = name(most(Math.min, (one) => one.row), most(Math.min, (one) => one.column));
      const last = name(
        most(Math.max, (one) => one.row + one.height - 1),
        most(Math.max, (one) => one.column + one.width - 1),
      );
      const range = first === last ? first : `${first}:${last}`;
      return [sheet, range, status.words, status.oldest ?? "", at].map(asText);
    });
  }

  // what waits to be computed shows the rate of another place or day
  async function isComputed(context) {
    const { application } = context.workbook;
    application.load("calculationState");
    await context.sync();
    return application.calculationState === "Done";
  }

  async function freeze(context, whole, status) {
    if (!(await isComputed(context))) return { waits: true };
    const cells = await found(context, whole);
    const good = cells.filter((at) => !at.why);
    if (good.length) {
      const rows = lines(good, status); // before any formula goes
      const { sheet, row } = await log(context);
      sheet.getRangeByIndexes(row, 0, rows.length, HEADS.length).values = rows;
      await context.sync();
    }
    for (let from = 0; from < good.length; from += MOST_WRITES) {
      for (const { sheet, row, column, height, width, block } of good.slice(from, from + MOST_WRITES)) {
        const values = block.values.map((line) => line.map(asText));
        sheet.getRangeByIndexes(row, column, height, width).values = values; // a spilled block at once
      }
      await context.sync();
    }
    return { frozen: good.length, left: cells.filter((at) => at.why) };
  }

  function list(texts) {
    $("freeze-left").replaceChildren(
      ...texts.map((text) => Object.assign(document.createElement("li"), { textContent: text })),
    );
  }

  const counted = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

  function start({ onPress, show, request }) {
    async function begin(whole) {
      const status = await request("GET", "status");
      if (status.service === undefined) {
        show("freeze-message", `${status.problem.title}: nothing was frozen. ${status.problem.what_to_do}`);
        return;
      }
      try {
        const { frozen, left, waits } = await Excel.run((context) => freeze(context, whole, status));
        if (waits) {
          show("freeze-message", "Excel has not computed everything yet: press F9, then freeze. Nothing was changed.");
          return;
        }
        const stay = left.length === 1 ? "stays a formula" : "stay formulas";
        const rest = left.length ? ` ${counted(left.length, "cell")} without a complete value ${stay}:` : "";
        show("freeze-message", `${counted(frozen, "formula")} frozen.${rest}`);
        list(left.map((at) => `${at.sheet.name}!${name(at.row, at.column)} ${at.why}`));
      } catch (error) {
        const why = error?.message ?? "no reason given";
        show("freeze-message", `Excel stopped: ${why}. Each cell has either its formula or its value.`);
      }
    }

    let pressed = null; // the button whose confirmation is open
    function question(button) {
      (button ? $("confirm-yes") : pressed).focus();
      pressed = button;
    }
    for (const [id, what] of [["freeze", "the selected cells"], ["freeze-all", "the whole workbook"]]) {
      onPress(id, () => {
        list([]);
        show("freeze-message", "");
        $("confirm-text").textContent =
          `Freeze every SVC formula in ${what}? The formulas do not come back: keep a copy of the workbook.`;
        $("confirm").hidden = false;
        question($(id));
      });
    }
    onPress("confirm-no", () => {
      $("confirm").hidden = true;
      question(null);
    });
    onPress("confirm-yes", async () => {
      const whole = pressed.id === "freeze-all";
      $("confirm").hidden = true;
      question(null);
      await begin(whole);
    });
  }
  return { start, blocks, calls, isComputed };
})();
