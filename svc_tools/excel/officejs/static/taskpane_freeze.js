// Freeze: formulas with our functions become the values that they show, and back again. What the
// sheet "SVC frozen" notes is written before any cell changes, and nothing is ever deleted from it.
"use strict";

const svcFreeze = (() => {
  const SHEET = "SVC frozen";
  const HEADS = ["sheet", "cell", "formula", "value", "source", "answered", "frozen at", "put back at"];
  const OURS = /\bSVC[._][A-Z_]+\s*\(/i;
  const PROOF = [0, 1, 2]; // the columns without which no formula comes back
  const SPILLED = "spilled from ";
  const ARRAY = /^(\{=|array of )/; // an array formula of the macro's: its cells change together only
  const MOST_CELLS = 20_000; // of one question
  const MOST_WRITES = 1_000; // of one step
  const $ = (id) => document.getElementById(id);

  const isFormula = (text) => typeof text === "string" && text.startsWith("=");
  const calls = (text) => isFormula(text) && OURS.test(text.replace(/"[^"]*"/g, '""'));
  // Excel would read "02134" as a number again
  const asText = (value) => (typeof value === "string" && value !== "" ? `'${value}` : value);
  const now = () => new Date().toISOString().slice(0, 19) + "Z";

  function name(row, column) {
    let letters = "";
    for (let rest = column + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
      letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
    }
    return `${letters}${row + 1}`;
  }

  // Excel on the web answers no question of more than 5 MB: large ranges are read in blocks
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

  async function write(context, items, act) {
    for (let at = 0; at < items.length; at += MOST_WRITES) {
      act(items.slice(at, at + MOST_WRITES), at);
      await context.sync();
    }
  }

  const SIZE = "rowIndex,columnIndex,rowCount,columnCount";

  async function usedRanges(context, whole) {
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
    const blocks = [];
    for (const [sheet, used] of areas) {
      if (used.isNullObject || sheet.name === SHEET) continue;
      for (const one of await read(context, sheet, used, "formulas,values,valueTypes,hasSpill")) {
        blocks.push([sheet, one]);
      }
    }
    return blocks;
  }

  // each formula of ours with what it shows; those that show an error or a partial rate apart
  async function found(context, whole) {
    const cells = [];
    for (const [sheet, range] of await usedRanges(context, whole)) {
      range.formulas.forEach((line, i) =>
        line.forEach((formula, j) => {
          const value = range.values[i][j];
          if (!calls(formula) || value === formula) return; // a text that reads like a formula
          const bad = range.valueTypes[i][j] === "Error" || String(value).startsWith("#");
          const [row, column] = [range.rowIndex + i, range.columnIndex + j];
          const at = { sheet, row, column, cell: name(row, column), formula, value, bad, spilled: [] };
          if (range.hasSpill !== false) {
            at.spill = sheet.getCell(row, column).getSpillingToRangeOrNullObject();
            at.spill.load("values,valueTypes");
          }
          cells.push(at);
        }),
      );
    }
    await context.sync();
    for (const at of cells) {
      if (!at.spill || at.spill.isNullObject) continue;
      at.spill.values.forEach((line, i) =>
        line.forEach((value, j) => {
          at.bad ||= at.spill.valueTypes[i][j] === "Error" || String(value).startsWith("#");
          if (i || j) at.spilled.push({ row: at.row + i, column: at.column + j, value });
        }),
      );
    }
    return { good: cells.filter((at) => !at.bad), left: cells.filter((at) => at.bad) };
  }

  async function log(context, { make }) {
    let sheet = context.workbook.worksheets.getItemOrNullObject(SHEET);
    sheet.load("name");
    await context.sync();
    if (sheet.isNullObject && !make) return {};
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
    return { sheet, used };
  }

  function lines(cells, status, at) {
    return cells.flatMap(({ sheet, cell, formula, value, spilled }) => {
      const line = (where, what, shown) =>
        [sheet.name, where, what, shown, status.words, "", at, ""].map(asText);
      const others = spilled.map((one) => line(name(one.row, one.column), SPILLED + cell, one.value));
      return [line(cell, formula, value), ...others];
    });
  }

  // what waits to be computed shows the rate of another place or day
  async function isComputed(context) {
    const { application } = context.workbook;
    application.load("calculationState");
    await context.sync();
    return application.calculationState === "Done";
  }

  // a cell that is formatted as text makes a text of a number: such formulas are put back
  async function mended(context, written) {
    const others = written.filter((at) => at.put.some(([cell, value]) => cell.values[0][0] !== value));
    await write(context, others, (some) => {
      for (const at of some) {
        for (const [cell] of at.put.slice(1)) cell.values = [[""]];
        const [[cell]] = at.put;
        cell.numberFormat = [["General"]]; // else the formula would be a text as well
        cell.formulas = [[at.formula]];
        at.why = "is formatted as text, where a value would be another one";
      }
    });
    return others;
  }

  async function freeze(context, whole, status) {
    if (!(await isComputed(context))) return { waits: true };
    const { good, left } = await found(context, whole);
    let others = [];
    if (good.length) {
      const { sheet, used } = await log(context, { make: true });
      // all of it is on the sheet before any formula goes
      const rows = lines(good, status, now());
      const blocks = [];
      await write(context, rows, (some, at) => {
        const block = sheet.getRangeByIndexes(used.rowCount + at, 0, some.length, HEADS.length);
        block.values = some;
        block.load("values");
        blocks.push(block);
      });
      const kept = blocks.flatMap((block) => block.values);
      const isKept = (row, at) => PROOF.every((column) => asText(kept[at][column]) === row[column]);
      if (!rows.every(isKept)) {
        throw new Error(`the sheet “${SHEET}” did not take the formulas (is it filtered?), and none was frozen`);
      }
      await write(context, good, (some) => {
        for (const at of some) {
          at.put = [at, ...at.spilled].map(({ row, column, value }) => [at.sheet.getCell(row, column), value]);
          for (const [cell, value] of at.put) cell.values = [[asText(value)]];
          for (const [cell] of at.put) cell.load("values");
        }
      });
      others = await mended(context, good);
    }
    return { frozen: good.length - others.length, left: [...left, ...others] };
  }

  // the rows of the log that are not put back yet, newest first; of a cell that was frozen twice
  // the newest alone counts
  function openRows(rows) {
    const newest = new Set();
    const all = rows.map(([on, cell, formula, value, , , , back], index) => {
      const text = String(formula);
      const first = text.startsWith(SPILLED) ? text.slice(SPILLED.length) : cell;
      return { on, cell, formula: text, value, back, index, block: `${on}!${first}` };
    });
    return all.slice(1).reverse().filter((one) => {
      const at = `${one.on}!${one.cell}`;
      if (!one.on || one.back || newest.has(at) || ARRAY.test(one.formula)) return false;
      newest.add(at);
      return true;
    });
  }

  async function unfreeze(context) {
    const { sheet, used } = await log(context, { make: false });
    if (!sheet) return { back: 0, kept: [] };
    const rows = await read(context, sheet, used, "values");
    const open = openRows(rows.flatMap((block) => block.values));
    const find = (name) => context.workbook.worksheets.getItemOrNullObject(name);
    const sheets = new Map(open.map((one) => [one.on, find(one.on)]));
    for (const found of sheets.values()) found.load("name");
    await context.sync();
    const there = open.filter((one) => !sheets.get(one.on).isNullObject);
    await write(context, there, (some) => {
      for (const one of some) {
        one.range = sheets.get(one.on).getRange(one.cell);
        one.range.load("formulas,values");
      }
    });
    const frozen = (one) => one.range.values[0][0] === one.value && !isFormula(one.range.formulas[0][0]);
    // what a freeze that ended half way left as it was
    const blocks = (fits) => new Set(there.filter(fits).map((one) => one.block));
    const never = blocks((one) => one.range.formulas[0][0] === one.formula);
    const changed = blocks((one) => !never.has(one.block) && !frozen(one));
    const back = there.filter((one) => !never.has(one.block) && !changed.has(one.block));
    const whole = back.filter((one) => !one.formula.startsWith(SPILLED));
    const parts = back.filter((one) => one.formula.startsWith(SPILLED));
    await write(context, parts, (some) => {
      for (const one of some) one.range.values = [[""]];
    });
    await write(context, whole, (some) => {
      for (const one of some) one.range.formulas = [[one.formula]];
    });
    const at = now(); // only what is back is noted as such
    await write(context, there.filter((one) => !changed.has(one.block)), (some) => {
      for (const one of some) {
        const note = never.has(one.block) ? `${at} (not frozen)` : at;
        sheet.getRangeByIndexes(one.index, HEADS.length - 1, 1, 1).values = [[note]];
      }
    });
    const gone = open.filter((one) => sheets.get(one.on).isNullObject).map((one) => one.block);
    return { back: whole.length, kept: [...changed, ...new Set(gone)] };
  }

  function list(texts) {
    $("freeze-left").replaceChildren(
      ...texts.map((text) => Object.assign(document.createElement("li"), { textContent: text })),
    );
  }

  const counted = (count, noun) => `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;

  async function act(say, work, told) {
    list([]);
    say("freeze-said", "");
    try {
      told(await Excel.run(work));
    } catch (error) {
      const why = error?.message ?? "no reason given";
      say("freeze-said", `Excel stopped: ${why}. What changed is noted on the sheet “${SHEET}”.`);
    }
  }

  function start({ onPress, say, ask }) {
    async function begin(whole) {
      say("freeze-said", "");
      const status = await ask("GET", "status");
      if (status.service === undefined) {
        say("freeze-said", `${status.trouble.title}: nothing was frozen. ${status.trouble.what_to_do}`);
        return;
      }
      await act(say, (context) => freeze(context, whole, status), ({ frozen, left, waits }) => {
        if (waits) {
          say("freeze-said", "Excel has not computed everything yet: press F9, then freeze. Nothing was changed.");
          return;
        }
        const stay = left.length === 1 ? "stays a formula" : "stay formulas";
        const rest = left.length ? ` ${counted(left.length, "cell")} without a whole value ${stay}:` : "";
        say("freeze-said", `${counted(frozen, "formula")} frozen.${rest}`);
        list(left.map((at) => `${at.sheet.name}!${at.cell} ${at.why ?? `shows ${at.value}`}`));
      });
    }
    function asked(open) {
      $("confirm").hidden = !open;
      $(open ? "confirm-yes" : "freeze-all").focus();
    }
    onPress("freeze", () => begin(false));
    onPress("freeze-all", () => {
      $("confirm-text").textContent = "Freeze every formula of ours in the whole workbook?";
      asked(true);
    });
    onPress("confirm-no", () => asked(false));
    onPress("confirm-yes", async () => {
      asked(false);
      await begin(true);
    });
    onPress("unfreeze", () =>
      act(say, unfreeze, ({ back, kept }) => {
        const [hold, are] = kept.length === 1 ? ["holds", "is"] : ["hold", "are"];
        const others = `${counted(kept.length, "cell")} ${hold} something else now, and ${are} left:`;
        const rest = kept.length ? ` ${others}` : "";
        say("freeze-said", `${counted(back, "formula")} put back.${rest}`);
        list(kept);
      }),
    );
  }
  return { start };
})();
