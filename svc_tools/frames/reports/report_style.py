"""How the page of a report looks: on screen, light and dark, wide and narrow, and on paper."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1b1f24; --muted: #57606a; --line: #d0d7de; --paper: #fff; --card: #f6f8fa;
  --bar: #2b77b5; --doubt: #b35900; --link: #0b5394;
  --t0: #dbe9f6; --t1: #a9cde8; --t2: #67a9d6; --t3: #2b77b5; --t4: #0a3f78;
  --on-light: #1b1f24; --on-dark: #fff; --empty: #f0f2f4; --refund: #fdf0d5;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6edf3; --muted: #9aa5b1; --line: #3a424b; --paper: #0f1419; --card: #181f27;
    --bar: #4b9cd9; --doubt: #f0a35c; --link: #8cc4f2; --empty: #1b222a; --refund: #4a3413;
    --t0: #15304a; --t1: #1d4a74; --t2: #2a6ba6; --t3: #67a9d6; --t4: #b9daf0;
    --on-light: #fff; --on-dark: #0f1419;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main, header, footer { max-width: 76rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.75rem; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .25rem; overflow-wrap: anywhere; }
h2 {
  font-size: 1.2rem; margin: 2.4rem 0 .5rem; padding-top: .6rem;
  border-top: 1px solid var(--line);
}
p { max-width: 48rem; margin: .4rem 0; }
.muted { color: var(--muted); }
nav { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .75rem 0 1.25rem; }
a { color: var(--link); }
.cards {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(11rem, 1fr)); gap: .75rem;
  margin-bottom: .9rem;
}
.card {
  background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .7rem .9rem;
}
.card b {
  display: block; font-size: 1.25rem; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere;
}
.card span { color: var(--muted); font-size: .85rem; }
.scroll { overflow-x: auto; margin: .75rem 0 1.25rem; }
.scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
table { border-collapse: collapse; min-width: 40%; font-size: .87rem; }
caption { text-align: left; padding: 0 0 .35rem; font-weight: 600; font-size: .95rem; }
h3 { font-size: .95rem; margin: 1.4rem 0 .3rem; }
th, td {
  text-align: left; vertical-align: top; padding: .28rem .7rem .28rem 0;
  border-bottom: 1px solid var(--line);
}
th { border-bottom: 2px solid var(--muted); white-space: nowrap; }
td { overflow-wrap: break-word; min-width: 3.2rem; max-width: 26rem; }
th.n, td.n { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
th.w, td.w { min-width: 15rem; }
tfoot td { font-weight: 600; border-top: 2px solid var(--muted); }
.bar {
  display: block; height: .7rem; margin-top: .3rem; min-width: 1px; background: var(--bar);
  border-radius: 1px;
}
.bar.minus { background: var(--doubt); }
td.wide { min-width: 9rem; }
.lines table { white-space: nowrap; font-size: .8rem; }
.lines td { white-space: normal; max-width: 18rem; }
.map { width: 100%; max-width: 46rem; height: auto; display: block; margin: .75rem 0; }
.map text { text-anchor: middle; font-size: 15px; fill: var(--ink); }
.map .code { font-weight: 700; font-size: 18px; }
.map .plate { fill: var(--paper); }
.t0 { fill: var(--t0); } .t1 { fill: var(--t1); } .t2 { fill: var(--t2); }
.t3 { fill: var(--t3); } .t4 { fill: var(--t4); }
.map .light { fill: var(--on-light); } .map .dark { fill: var(--on-dark); }
.zero { fill: var(--paper); stroke: var(--bar); stroke-width: 2; }
.refund { fill: var(--refund); stroke: var(--doubt); stroke-width: 2; }
.empty { fill: var(--empty); } .map .faint { fill: var(--muted); font-size: 16px; }
.hatch { stroke: var(--muted); stroke-width: 2; fill: none; } .dots { fill: var(--muted); }
.partial, .none { stroke: var(--muted); }
.corner { fill: var(--doubt); stroke: var(--paper); }
.keys {
  display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; padding: 0; margin: .25rem 0 1rem;
  list-style: none; font-size: .87rem;
}
.keys svg { width: 1.7rem; height: 1rem; vertical-align: -.15rem; margin-right: .4rem; }
dl {
  display: grid; grid-template-columns: minmax(9rem, 15rem) 1fr; gap: .25rem 1rem;
  margin: .5rem 0 1.25rem; font-size: .9rem;
}
dt { color: var(--muted); } dd { margin: 0; overflow-wrap: anywhere; }
details { margin: .5rem 0 1rem; } summary { cursor: pointer; font-weight: 600; }
ul.notes { padding-left: 1.1rem; max-width: 52rem; }
footer { padding-bottom: 3rem; }
@media (max-width: 34rem) {
  body { font-size: 14px; } dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; }
  h1 { font-size: 1.4rem; } main, header, footer { padding-left: .9rem; padding-right: .9rem; }
}
@page { margin: 14mm 12mm; }
@page wide { size: landscape; }
@media print {
  :root {
    --ink: #000; --muted: #444; --line: #bbb; --paper: #fff; --card: #fff; --bar: #2b77b5;
    --doubt: #b35900; --link: #000; --empty: #f0f2f4; --refund: #fdf0d5;
    --t0: #dbe9f6; --t1: #a9cde8; --t2: #67a9d6; --t3: #2b77b5; --t4: #0a3f78;
    --on-light: #1b1f24; --on-dark: #fff;
  }
  body { font-size: 10pt; } nav { display: none; } .scroll { overflow: visible; }
  main, header, footer { max-width: none; padding: 0; }
  /* the head on every page, the total on the last alone */
  thead { display: table-header-group; } tfoot { display: table-row-group; }
  tr, .card, .map { break-inside: avoid; }
  h2 { break-after: avoid; }
  .lines, #lines { page: wide; }
  .lines table { font-size: 6.5pt; width: 100%; }
  .lines th, .lines td { white-space: normal; overflow-wrap: anywhere; min-width: 0; }
  .lines th.w, .lines td.w { min-width: 9rem; }
  .bar, .map * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
"""
"""The whole style sheet: no address in it, nothing is fetched."""
