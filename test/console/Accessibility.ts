/** Finds violations of WCAG 2.2 AA in a page, with axe-core. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { Page } from "playwright-core"

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

/** The violations as lines of text. Only the contrast depends on the theme. */
export const violationsIn = async (page: Page, rules?: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  // As the debugger, not as a script of the page: its policy allows no other scripts. Once for each load: it is half a megabyte.
  if (await page.evaluate("typeof axe === 'undefined'")) await page.evaluate(source)
  const options = rules === undefined ? { type: "tag", values: TAGS } : { type: "rule", values: rules }
  const found: ReadonlyArray<Violation> = await page.evaluate(
    `axe.run(document, ${JSON.stringify({ runOnly: options, resultTypes: ["violations"] })}).then((result) => result.violations)`,
  )
  return found.flatMap(({ id, nodes }) => nodes.map(({ failureSummary, html }) => `${id}: ${html} ${failureSummary}`))
}
