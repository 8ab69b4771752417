// A workbook as Office.js shows it, for the pane in a browser without Excel: what is read must have
// been loaded, nothing changes before sync(), and a text that looks like a number becomes one.
"use strict";

(() => {
  const book = { notes: {}, names: {}, tables: [], sheets: {}, selected: null, results: {}, calculated: [], spills: {}, texts: [], state: "Done", writes: 0, breaksAfter: Infinity };
  globalThis.standIn = book;
  let queue = [];

  const letters = (column) => (column >= 26 ? letters(Math.floor(column / 26) - 1) : "") + String.fromCharCode(65 + (column % 26));
  const address = (row, column) => `${letters(column)}${row + 1}`;
  function place(text) {
    const [, name, digits] = /^([A-Z]+)(\d+)$/.exec(text);
    return [Number(digits) - 1, [...name].reduce((sum, one) => sum * 26 + one.charCodeAt(0) - 64, 0) - 1];
  }
  const shown = (sheet, row, column) => {
    const cell = book.sheets[sheet]?.[address(row, column)];
    if (cell === undefined) return "";
    if (typeof cell !== "string") return cell;
    if (cell.startsWith("'")) return cell.slice(1); // a text that is no formula
    return cell.startsWith("=") ? (book.results[cell] ?? "#NAME?") : cell;
  };
  const read = (sheet, row, column) => {
    const cell = book.sheets[sheet]?.[address(row, column)] ?? "";
    return typeof cell === "string" ? cell.replace(/^'/, "") : cell; // Excel keeps the mark to itself
  };

  function write(sheet, row, column, given) {
    if (++book.writes > book.breaksAfter) throw new Error("the sheet is protected");
    let cell = given;
    const isText = book.texts.includes(`${sheet}!${address(row, column)}`); // by its format
    if (isText && given !== "") cell = typeof given === "string" ? `'${given.replace(/^'/, "")}` : String(given);
    else if (typeof given === "string" && given.startsWith("'")) cell = given[1] === "=" ? given : given.slice(1);
    else if (typeof given === "string" && given !== "" && !given.startsWith("=") && !Number.isNaN(Number(given))) cell = Number(given);
    if (cell === "") delete book.sheets[sheet][address(row, column)];
    else book.sheets[sheet][address(row, column)] = cell;
  }

  // properties answer once they were loaded and synced
  function proxy(facts, members = {}) {
    const known = {};
    return new Proxy(members, {
      get(target, name) {
        if (name === "load") return (names) => queue.push(() => {
          if (/formulas|values/.test(names) && target.cells > 20_000) throw new Error("the answer is too large");
          for (const one of ["isNullObject", ...names.split(",")]) known[one] = facts(one);
        });
        if (name in target) return target[name];
        if (name in known) return known[name];
        if (typeof name === "symbol" || name === "then") return undefined;
        throw new Error(`${name} is read before it was loaded`);
      },
      set(target, name, value) {
        queue.push(() => target.put(name, value));
        return true;
      },
    });
  }

  function range(sheet, row, column, height, width) {
    const rows = () => Array.from({ length: height }, (_, i) => Array.from({ length: width }, (_, j) => [row + i, column + j]));
    const spill = () => book.spills[`${sheet}!${address(row, column)}`];
    const facts = (name) => ({
      isNullObject: () => book.sheets[sheet] === undefined || height === 0,
      formulas: () => rows().map((line) => line.map(([i, j]) => read(sheet, i, j))),
      values: () => rows().map((line) => line.map(([i, j]) => shown(sheet, i, j))),
      valueTypes: () => rows().map((line) => line.map(([i, j]) => (/^#(N\/A|VALUE!|NAME\?)$/.test(shown(sheet, i, j)) ? "Error" : "Other"))),
      numberFormat: () => rows().map((line) => line.map(([i, j]) => (book.texts.includes(`${sheet}!${address(i, j)}`) ? "@" : "General"))),
      rowIndex: () => row,
      columnIndex: () => column,
      rowCount: () => height,
      columnCount: () => width,
      address: () => `${sheet}!${address(row, column)}`,
      hasSpill: () => (Object.keys(book.spills).some((one) => one.startsWith(`${sheet}!`)) ? null : false),
    })[name]();
    return proxy(facts, {
      cells: height * width,
      worksheet: worksheet(sheet),
      getCell: (i, j) => range(sheet, row + i, column + j, 1, 1),
      getUsedRangeOrNullObject: () => used(sheet, row, column, height, width),
      getSpillingToRangeOrNullObject: () => (spill() ? range(sheet, row, column, ...spill()) : range(sheet, 0, 0, 0, 0)),
      put(name, value) {
        if (name !== "values" && name !== "formulas") throw new Error(`${name} cannot be set`);
        if (value.length !== height || value[0].length !== width) throw new Error("the dimensions do not fit");
        rows().flat().forEach(([i, j]) => write(sheet, i, j, value[i - row][j - column]));
      },
    });
  }

  function used(sheet, row = 0, column = 0, height = Infinity, width = Infinity) {
    const places = Object.keys(book.sheets[sheet] ?? {}).map(place)
      .filter(([i, j]) => i >= row && i < row + height && j >= column && j < column + width);
    if (!places.length) return range(sheet, 0, 0, 0, 0);
    const ends = (at, pick) => pick(...places.map((one) => one[at]));
    const [top, left] = [ends(0, Math.min), ends(1, Math.min)];
    return range(sheet, top, left, ends(0, Math.max) - top + 1, ends(1, Math.max) - left + 1);
  }

  // what is asked of a range is worked out when it is synced, as Excel does
  function late(make) {
    let made;
    const target = () => (made ??= make());
    return new Proxy({}, {
      get(_, name) {
        if (name === "load") return (names) => queue.push(() => {
          const one = target();
          one.load(names);
          queue.pop()();
        });
        return name === "then" ? undefined : target()[name];
      },
    });
  }

  function worksheet(name) {
    return proxy((fact) => ({ name: () => name, isNullObject: () => book.sheets[name] === undefined })[fact](), {
      getUsedRangeOrNullObject: () => late(() => used(name)),
      getCell: (row, column) => range(name, row, column, 1, 1),
      getRange: (text) => range(name, ...place(text), 1, 1),
      getRangeByIndexes: (row, column, height, width) => range(name, row, column, height, width),
    });
  }

  // a collection: its items answer once they were loaded
  function list(rows, make) {
    const found = { load: () => queue.push(() => (found.items = rows().map(make))) };
    return found;
  }

  function table({ name, sheet, row, column, height, columns }) {
    return {
      name,
      worksheet: worksheet(sheet),
      columns: list(() => columns, (one) => ({ name: one })),
      getDataBodyRange: () => range(sheet, row, column, height, columns.length),
    };
  }

  const context = {
    workbook: {
      getSelectedRange: () => range(book.selected[0], ...place(book.selected[1]), ...(book.selected[2] ?? [1, 1])),
      notes: { add: (cell, text) => queue.push(() => (book.notes[cell.address] = text)) },
      application: proxy(() => book.state, { calculate: (kind) => queue.push(() => book.calculated.push(kind)) }),
      names: list(() => Object.entries(book.names), ([name, formula]) => ({ name, formula })),
      tables: list(() => book.tables, (one) => table(one)),
      worksheets: {
        load: () => queue.push(() => (context.workbook.worksheets.items = Object.keys(book.sheets).map((name) => {
          const sheet = worksheet(name);
          sheet.load("name");
          queue.pop()();
          return sheet;
        }))),
        getItemOrNullObject: worksheet,
        add(name) {
          queue.push(() => (book.sheets[name] = {}));
          return worksheet(name);
        },
      },
    },
    async sync() {
      const due = queue;
      queue = [];
      for (const one of due) one();
    },
  };
  globalThis.Excel = { run: (work) => work(context), CalculationType: { full: "Full" } };
})();
