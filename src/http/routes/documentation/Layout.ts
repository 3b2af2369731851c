/** The frame of all pages: the bar with the APIs and the search. Links are relative, so that a proxy may add a path before them. */
import { escape } from "./Markdown.ts"

const SHARED_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
]

const policy = (styles: string) => ({ "content-security-policy": [...SHARED_POLICY, styles].join("; ") })

/** The policy of pages, scripts and documents: everything comes from this service, and no script or style is inline. */
export const STRICT_POLICY = policy("style-src 'self'")

/** The policy of API references: the viewer inserts its style sheet as an element. */
export const VIEWER_POLICY = policy("style-src 'self' 'unsafe-inline'")

/** The relative path from a page to the root of the service, such as `../` from `/docs/core`. */
export const rootFrom = (path: string): string => "../".repeat(path.split("/").length - 2)

const ENTRIES = [
  { path: "/docs/pages", label: "Guides" },
  { path: "/docs/core", label: "Core API" },
  { path: "/docs/platform", label: "Platform API" },
  { path: "/docs/webhooks", label: "Webhooks" },
]

/** What differs between pages. */
interface PageOptions {
  /** The path of the page. */
  readonly path: string
  readonly title: string
  /** The entry of the bar that is shown as current. */
  readonly current: string
  /** Names of scripts below `/docs`, besides the search. */
  readonly scripts: ReadonlyArray<string>
  /** A class of the body, for the style sheet. */
  readonly kind: "guide" | "reference"
  readonly body: string
}

/** The HTML of a page. */
export const page = ({ body, current, kind, path, scripts, title }: PageOptions): string => {
  const root = rootFrom(path)
  const entries = ENTRIES.map(
    (entry) =>
      `<a href="${root}${entry.path.slice(1)}"${entry.path === current ? ' aria-current="page"' : ""}>${entry.label}</a>`,
  )
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(title)} · Keyshelf</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${root}docs/style.css">
</head>
<body class="${kind}">
<header class="bar">
<a class="brand" href="${root}docs/pages">Keyshelf</a>
<nav aria-label="Documentation">${entries.join("")}<a href="${root}console">Console</a></nav>
<search><input id="search" type="search" placeholder="Search the guides" aria-label="Search the guides" autocomplete="off" spellcheck="false"><ul id="results" hidden></ul></search>
</header>
${body}
${["search.js", ...scripts].map((name) => `<script src="${root}docs/${name}"></script>`).join("\n")}
</body>
</html>
`
}
