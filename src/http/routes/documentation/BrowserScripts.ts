/** The scripts of the pages. They load only files of this service, by addresses relative to their own. */

/**
 * Starts the viewer. A page whose element names a server shows an API of another listener: the policy blocks requests there, so it has no
 * button for them. The viewer compares schemes with lower case, while HTTP ignores their case. Its fonts, telemetry, request proxy and
 * cloud functions are off, because they use other hosts. So do links to its vendor, which have no option.
 */
export const START = `"use strict"
{
  const root = new URL("..", document.currentScript.src)
  const reference = document.getElementById("reference")
  const { document: path, server } = reference.dataset
  const removeLinks = () => document.querySelectorAll('a[href*="scalar.com"]').forEach((link) => link.remove())
  new MutationObserver(removeLinks).observe(document.body, { childList: true, subtree: true })
  const start = async () => {
    const content = await (await fetch(new URL(path, root))).json()
    const schemes = content.components?.securitySchemes ?? {}
    for (const scheme of Object.values(schemes)) {
      if (typeof scheme.scheme === "string") scheme.scheme = scheme.scheme.toLowerCase()
    }
    window.Scalar.createApiReference(reference, {
      content,
      servers: [{ url: server ?? root.href.replace(/\\/$/, "") }],
      authentication: { preferredSecurityScheme: Object.keys(schemes)[0] ?? null },
      hideTestRequestButton: server !== undefined,
      hideDarkModeToggle: true,
      documentDownloadType: "none",
      withDefaultFonts: false,
      telemetry: false,
      proxyUrl: "",
      hideClientButton: true,
      showDeveloperTools: "never",
      agent: { disabled: true },
      mcp: { disabled: true },
    })
  }
  void start()
}
`

/** Searches the guides. The index is loaded when the field gets the focus. */
export const SEARCH = `"use strict"
{
  const root = new URL(".", document.currentScript.src)
  const field = document.getElementById("search")
  const list = document.getElementById("results")
  const MAX_RESULTS = 12
  let loading
  const load = () => (loading ??= fetch(new URL("search.json", root)).then((response) => response.json()))

  // A word in a title counts more than one in a heading, which counts more than one in the text. All words must occur.
  const scoreOf = (section, words) => {
    let score = 0
    for (const word of words) {
      const inTitle = section.title.toLowerCase().includes(word)
      const inHeading = section.heading.toLowerCase().includes(word)
      const inText = section.text.toLowerCase().includes(word)
      if (!inTitle && !inHeading && !inText) return 0
      score += (inTitle ? 4 : 0) + (inHeading ? 6 : 0) + (inText ? 1 : 0)
    }
    return score
  }

  const excerptOf = (text, words) => {
    const at = Math.max(0, Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((index) => index >= 0), text.length))
    const start = at > 50 ? text.indexOf(" ", at - 50) + 1 : 0
    return (start > 0 ? "… " : "") + text.slice(start, start + 130) + (start + 130 < text.length ? " …" : "")
  }

  const marked = (text, words) => {
    const found = words.map((word) => [text.toLowerCase().indexOf(word), word.length]).find(([index]) => index >= 0)
    if (found === undefined) return [text]
    const [index, length] = found
    const mark = document.createElement("mark")
    mark.textContent = text.slice(index, index + length)
    return [text.slice(0, index), mark, text.slice(index + length)]
  }

  const resultOf = (section, words) => {
    const link = document.createElement("a")
    link.href = new URL(section.path, root).href
    link.append(section.title === section.heading ? section.title : section.title + " › " + section.heading)
    const excerpt = document.createElement("small")
    excerpt.append(...marked(excerptOf(section.text, words), words))
    link.append(excerpt)
    const item = document.createElement("li")
    item.append(link)
    return item
  }

  const show = async () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean)
    if (words.length === 0) return void (list.hidden = true)
    const sections = await load()
    const found = sections
      .map((section) => ({ section, score: scoreOf(section, words) }))
      .filter(({ score }) => score > 0)
      .sort((a, b) => b.score - a.score)
      .slice(0, MAX_RESULTS)
      .map(({ section }) => resultOf(section, words))
    const nothing = document.createElement("p")
    nothing.textContent = "No page contains all these words."
    list.replaceChildren(...(found.length > 0 ? found : [nothing]))
    list.hidden = false
  }

  const linkAt = (offset) => {
    const links = [...list.querySelectorAll("a")]
    return links[links.indexOf(document.activeElement) + offset]
  }

  field.addEventListener("focus", load)
  field.addEventListener("input", show)
  document.addEventListener("keydown", (event) => {
    const isInSearch = event.target === field || list.contains(event.target)
    if (event.key === "/" && !/^(input|textarea|select)$/i.test(event.target.tagName) && !event.target.isContentEditable) {
      event.preventDefault()
      field.focus()
    } else if (event.key === "Escape" && isInSearch) {
      list.hidden = true
      field.focus()
    } else if (event.key === "Enter" && event.target === field) {
      list.querySelector("a")?.click()
    } else if (isInSearch && event.key === "ArrowDown") {
      event.preventDefault()
      linkAt(1)?.focus()
    } else if (isInSearch && event.key === "ArrowUp") {
      event.preventDefault()
      ;(linkAt(-1) ?? field).focus()
    }
  })
  document.addEventListener("click", (event) => {
    if (!event.target.closest("search") || event.target.closest("#results a")) list.hidden = true
  })
  // On a narrow screen the list of pages takes the whole width, so it starts closed.
  const contents = document.querySelector(".contents > details")
  if (contents !== null && matchMedia("(max-width: 56rem)").matches) contents.open = false
}
`
