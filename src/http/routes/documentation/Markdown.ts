/** Turns the project's Markdown into HTML, and into sections for the search. Pure. */
import { Marked } from "marked"
import type { Token } from "marked"

/** A part of a page below one heading. */
interface Section {
  readonly heading: string
  /** The anchor in the page. Empty for the page's own title. */
  readonly anchor: string
  readonly text: string
}

/** A page, ready to be served. */
export interface Rendered {
  readonly title: string
  readonly html: string
  readonly sections: ReadonlyArray<Section>
}

/** Where a link leads in the served documentation, or that its file is only in the repository. */
export type Target = { readonly href: string } | { readonly file: string }

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
}

/** Escapes text for HTML, attributes included. */
export const escape = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => ENTITIES[character] ?? "")

/** Text of Markdown without its marks and the targets of its links. */
const plain = (markdown: string): string =>
  markdown
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll(/^[ \t]*(?:```\w*|\|[ \t:|-]+\||[-*>]|#+)[ \t]*$/gm, "")
    .replaceAll(/[`*|]/g, " ")
    .replaceAll(/\s+/g, " ")
    .trim()

/** Makes anchors as GitHub does, so that links work in both places. Repeated ones are numbered from `-1` on. */
const makeAnchors = () => {
  const seen = new Map<string, number>()
  return (heading: string): string => {
    const anchor = plain(heading)
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
      .replaceAll(" ", "-")
    const earlier = seen.get(anchor) ?? 0
    seen.set(anchor, earlier + 1)
    return earlier === 0 ? anchor : `${anchor}-${earlier}`
  }
}

const sectionsOf = (tokens: ReadonlyArray<Token>): ReadonlyArray<Section> => {
  const anchorOf = makeAnchors()
  const sections: Array<{ heading: string; anchor: string; text: string }> = []
  for (const token of tokens) {
    if (token.type === "heading") {
      const anchor = anchorOf(token["text"])
      sections.push({ heading: plain(token["text"]), anchor: token["depth"] === 1 ? "" : anchor, text: "" })
    } else {
      const section = sections.at(-1)
      if (section !== undefined) section.text = `${section.text} ${plain(token.raw)}`.trim()
    }
  }
  return sections
}

const EXTERNAL = /^[a-z][a-z0-9+.-]*:/i

/** Renders a page. `resolve` returns where a link to a file of the repository leads, or where a picture is. */
export const render = (markdown: string, resolve: (link: string) => Target): Rendered => {
  const anchorOf = makeAnchors()
  const marked = new Marked({
    renderer: {
      heading({ depth, text, tokens }) {
        const anchor = escape(anchorOf(text))
        const link = depth === 1 ? "" : ` <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a>`
        return `<h${depth} id="${anchor}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const text = this.parser.parseInline(tokens)
        const target = href.startsWith("#") ? { href } : resolve(href)
        if ("file" in target)
          return `<span class="file" title="In the repository: ${escape(target.file)}">${text}</span>`
        const isExternal = EXTERNAL.test(target.href)
        return `<a href="${escape(target.href)}"${isExternal ? ' rel="noreferrer"' : ""}>${text}</a>`
      },
      image({ href, text }) {
        const target = resolve(href)
        return `<img src="${escape("file" in target ? href : target.href)}" alt="${escape(text)}">`
      },
      code({ lang, text }) {
        // Scrolls by itself if a line is too long, so it must be reachable with the keyboard.
        return `<pre tabindex="0"><code${lang ? ` data-language="${escape(lang)}"` : ""}>${escape(text)}</code></pre>\n`
      },
      table({ header, rows }) {
        const row = (cells: typeof header, tag: "td" | "th") =>
          `<tr>${cells.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join("")}</tr>`
        const body = rows.map((cells) => row(cells, "td")).join("\n")
        return `<div class="table" tabindex="0"><table><thead>${row(header, "th")}</thead><tbody>${body}</tbody></table></div>\n`
      },
    },
  })
  const tokens = marked.lexer(markdown)
  const sections = sectionsOf(tokens)
  return { title: sections[0]?.heading ?? "", html: marked.parser(tokens), sections }
}
