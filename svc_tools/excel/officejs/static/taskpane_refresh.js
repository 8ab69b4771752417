// Refresh: every place that the workbook's cells use is looked up again. The server reads the places
// from the formulas and values that are sent, and says how many lookups they are; the user agrees first.
"use strict";

const svcRefresh = (() => {
  const $ = (id) => document.getElementById(id);

  /** The cells, names and tables of the workbook, as the server reads them: counted from 1. */
  async function contents(context) {
    const { worksheets, names, tables } = context.workbook;
    worksheets.load("items/name");
    names.load("items/name,items/formula");
    tables.load("items/name");
    await context.sync();
    const bodies = tables.items.map((table) => {
      const body = table.getDataBodyRange();
      body.load("rowIndex,columnIndex,rowCount");
      table.columns.load("items/name");
      table.worksheet.load("name");
      return { table, body };
    });
    const blocks = await svcFreeze.blocks(context, true, "formulas,values");
    const calledByName = names.items.some((one) => svcFreeze.calls(one.formula)); // such as a LAMBDA
    return {
      sheets: blocks.map(([sheet, block]) => ({
        name: sheet.name,
        row: block.rowIndex + 1,
        column: block.columnIndex + 1,
        formulas: block.formulas.map((line) => line.map((one) => (calledByName || svcFreeze.calls(one) ? one : ""))),
        values: block.values,
      })),
      names: Object.fromEntries(names.items.map((one) => [one.name, String(one.formula)])),
      tables: bodies.map(({ table, body }) => ({
        name: table.name,
        sheet: table.worksheet.name,
        row: body.rowIndex + 1,
        column: body.columnIndex + 1,
        height: body.rowCount,
        columns: table.columns.items.map((one) => one.name),
      })),
    };
  }

  function start({ onPress, show, request, draw, recalculate, check, excel }) {
    let workbook = null; // what was read for the question

    function question(text) {
      $("refresh-text").textContent = text;
      $("refresh-confirm").hidden = !text;
      $(text ? "refresh-yes" : "refresh").focus();
    }

    async function post(confirmed) {
      const result = await request("POST", "refresh", { workbook, confirmed });
      if (result.problem) {
        show("message", result.error?.message ?? "");
        if (!result.error) draw(result);
        return null;
      }
      return result;
    }

    async function look() {
      show("message", "Refreshing …");
      const report = await post(true);
      workbook = null;
      if (report === null) return;
      if (!report.happened) {
        show("message", report.message);
        return;
      }
      globalThis.svcSince = report.since; // functions.js of this runtime sends it from now on
      show("message", `${report.message} ${await recalculate()}`);
      await check();
    }

    onPress("refresh", async () => {
      question("");
      if (!excel()) {
        show("message", "Open this pane in Excel to refresh its cells. In LibreOffice Calc: Sales tax > Refresh all rates.");
        return;
      }
      show("message", "Reading the workbook …");
      try {
        workbook = await Excel.run(async (context) => (await svcFreeze.isComputed(context)) ? contents(context) : null);
      } catch (error) {
        show("message", `Excel did not give its cells: ${error?.message ?? "no reason given"}. Nothing was looked up.`);
        return;
      }
      if (workbook === null) {
        show("message", "Excel has not computed everything yet: press F9, then refresh. Nothing was looked up.");
        return;
      }
      const plan = await post(false);
      if (plan === null) return;
      show("message", "");
      if (plan.places + plan.unknown > 0) question(`${plan.message} Refresh now?`);
      else await look(); // the nexus register may be in use
    });
    onPress("refresh-no", () => {
      workbook = null;
      question("");
    });
    onPress("refresh-yes", async () => {
      question("");
      await look();
    });
  }
  return { start };
})();
