/** The style sheet of the documentation. Colours follow the reader's system, light or dark. */
export const STYLE_SHEET = `:root {
  color-scheme: light dark;
  --text: light-dark(#1b1f24, #e4e7eb);
  --muted: light-dark(#57606a, #9aa4af);
  --ground: light-dark(#ffffff, #0f1114);
  --raised: light-dark(#f5f6f8, #1a1d22);
  --line: light-dark(#d9dde2, #2d3239);
  --link: light-dark(#0b57d0, #8ab4f8);
  --bar: 3.25rem;
}
* { box-sizing: border-box; }
html { scroll-padding-top: calc(var(--bar) + 1rem); -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.6 system-ui, sans-serif; }
a { color: var(--link); }
.bar { position: sticky; top: 0; z-index: 100; height: var(--bar); display: flex; align-items: center; gap: 1.5rem; padding: 0 1.25rem;
  background: var(--ground); border-bottom: 1px solid var(--line); font: 15px/1.4 system-ui, sans-serif; }
.bar a { color: inherit; text-decoration: none; white-space: nowrap; }
.bar .brand { font-weight: 700; }
.bar nav { display: flex; gap: .25rem; overflow-x: auto; scrollbar-width: none; }
.bar nav a { padding: .3rem .7rem; border-radius: 6px; color: var(--muted); }
.bar nav a:hover, .bar nav a[aria-current] { color: var(--text); background: var(--raised); }
.bar search { position: relative; margin-left: auto; flex: 0 1 18rem; }
.bar input { width: 100%; padding: .4rem .7rem; font: inherit; color: inherit; background: var(--raised); border: 1px solid var(--line);
  border-radius: 6px; }
#results { position: absolute; right: 0; top: calc(100% + .4rem); width: min(32rem, calc(100vw - 2rem)); max-height: 70vh; overflow-y: auto;
  margin: 0; padding: .35rem; list-style: none; background: var(--ground); border: 1px solid var(--line); border-radius: 8px;
  box-shadow: 0 8px 30px #0004; }
#results a { display: block; padding: .5rem .65rem; border-radius: 6px; white-space: normal; }
#results a:hover, #results a:focus { background: var(--raised); }
#results small { display: block; color: var(--muted); overflow-wrap: anywhere; }
#results mark { background: none; color: var(--link); font-weight: 600; }
#results p { margin: .5rem .65rem; color: var(--muted); }
.columns { display: grid; grid-template-columns: 15.5rem minmax(0, 46rem); gap: 3.5rem; max-width: 72rem; margin: 0 auto;
  padding: 0 1.25rem 5rem; }
.contents { position: sticky; top: var(--bar); align-self: start; max-height: calc(100vh - var(--bar)); overflow-y: auto; padding: 1.5rem 0;
  font-size: 14.5px; }
.contents summary { display: none; }
.contents h2 { margin: 1.2rem 0 .3rem; font-size: 12px; letter-spacing: .06em; text-transform: uppercase; color: var(--muted); }
.contents ul { margin: 0; padding: 0; list-style: none; }
.contents a { display: block; padding: .22rem .6rem; border-radius: 5px; color: var(--text); text-decoration: none; }
.contents a:hover, .contents a[aria-current] { background: var(--raised); }
.contents a[aria-current] { font-weight: 600; }
article { padding-top: 1.5rem; overflow-wrap: break-word; }
article h1 { margin: .3rem 0 1rem; font-size: 2rem; line-height: 1.25; }
article h2 { margin: 2.4rem 0 .8rem; padding-top: 1.2rem; border-top: 1px solid var(--line); font-size: 1.4rem; line-height: 1.3; }
article h3 { margin: 1.8rem 0 .6rem; font-size: 1.12rem; }
article code { padding: .12em .34em; border-radius: 4px; background: var(--raised); font: .875em/1.5 ui-monospace, monospace; }
article pre { padding: .9rem 1.1rem; overflow-x: auto; background: var(--raised); border: 1px solid var(--line); border-radius: 8px; }
article pre code { padding: 0; background: none; font-size: 13.5px; }
.table { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: 14.5px; line-height: 1.5; }
th, td { padding: .5rem .8rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { background: var(--raised); }
td { min-width: 6rem; }
td code { overflow-wrap: anywhere; }
td:first-child { min-width: 9rem; }
blockquote { margin: 1.2rem 0; padding: .1rem 1.1rem; border-left: 3px solid var(--line); color: var(--muted); }
article img { max-width: 100%; }
.anchor { visibility: hidden; color: var(--muted); text-decoration: none; }
h2:hover .anchor, h3:hover .anchor, .anchor:focus { visibility: visible; }
.file { border-bottom: 1px dotted var(--muted); }
/* The viewer's own sticky parts begin below the bar. */
.reference { --scalar-custom-header-height: var(--bar); overflow-x: clip; }
.notice { margin: 0; padding: .7rem 1.25rem; background: var(--raised); border-bottom: 1px solid var(--line); font: 14.5px/1.5 system-ui, sans-serif; }
.notice code { font: .9em ui-monospace, monospace; }
.notice a { color: var(--link); }
@media (max-width: 56rem) {
  :root { --bar: 5.75rem; }
  .bar { display: grid; grid-template-columns: auto minmax(0, 1fr); grid-template-rows: 1fr 1fr; gap: 0 1rem; padding: .35rem 1rem; }
  .bar nav { grid-column: 1 / -1; grid-row: 2; margin: 0 -.5rem; }
  .bar nav a { padding: .3rem .55rem; }
  .bar search { grid-column: 2; grid-row: 1; width: 100%; }
  .columns { display: block; padding: 0 1rem 4rem; }
  .contents { position: static; max-height: none; padding: 1rem 0 0; }
  .contents summary { display: list-item; padding: .5rem .8rem; background: var(--raised); border: 1px solid var(--line); border-radius: 8px;
    cursor: pointer; }
  .contents a { padding: .4rem .6rem; }
  article h1 { font-size: 1.65rem; }
}
`
