/** Every view of the console: each route of its router, and each tab there. A new screen is among them by itself. */
import type { Page } from "playwright-core"
import { settled, until } from "./World.ts"

/** A route as the router knows it. */
interface Route {
  /** Such as `/customers/$slug`. */
  readonly path: string
  readonly scope?: string
}

/** A route with a record to show, or one of its tabs. */
export interface View {
  readonly route: Route
  readonly path: string
  /** For messages and names of pictures. */
  readonly name: string
  readonly isTab: boolean
  /** The names of its buttons, and of links that look like buttons. */
  readonly buttons: ReadonlyArray<string>
}

const routesOf = (page: Page): Promise<ReadonlyArray<Route>> =>
  page.evaluate(
    `Object.values(__TSR_ROUTER__.routesByPath)
       .map(({ fullPath, options }) => ({ path: fullPath, scope: options.staticData?.scope }))
       .filter(({ path }) => path !== "/")`,
  )

/** Opens a view without loading the page again: a platform credential is in its memory alone. */
export const goTo = async (page: Page, path: string): Promise<void> => {
  await page.evaluate(`__TSR_ROUTER__.navigate({ href: ${JSON.stringify(`/console${path}`)} })`)
  await until(
    page,
    "__TSR_ROUTER__.state.status === 'idle' && __TSR_ROUTER__.state.resolvedLocation?.href === __TSR_ROUTER__.state.location.href",
  )
  await settled(page)
}

/** Opens each view in turn. */
export const visit = async (
  page: Page,
  views: ReadonlyArray<View>,
  look: (view: View) => Promise<void>,
): Promise<void> => {
  for (const view of views) {
    await goTo(page, view.path)
    await look(view)
  }
}

/** The names of the buttons of the screen, and of links that look like buttons. */
export const buttonsIn = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(
    `[...document.querySelectorAll("main button, main a.button")]
       .map((one) => (one.getAttribute("aria-label") ?? one.textContent).trim())`,
  )

const linksIn = (page: Page): Promise<ReadonlyArray<string>> =>
  page.evaluate(
    `[...document.querySelectorAll('main a[href^="/console/"]')].map(({ pathname }) => pathname.slice("/console".length))`,
  )

const patternOf = (route: string): RegExp => new RegExp(`^${route.replaceAll(/\$\w+/g, "[^/?]+")}$`)

const nameOf = (route: string, tab = ""): string =>
  [...route.split("/"), tab]
    .filter((part) => part !== "")
    .join("-")
    .replaceAll("$", "")

const pathOf = (page: Page): string => {
  const { pathname, search } = new URL(page.url())
  return pathname.slice("/console".length) + search
}

/**
 * Finds all views by following links: a route with a parameter shows the first preferred record that fits, else the first one that a
 * link leads to. Dies if no link leads to a route.
 */
export const discover = async (page: Page, preferred: ReadonlyArray<string>): Promise<ReadonlyArray<View>> => {
  const routes = await routesOf(page)
  const isFixed = ({ path }: Route) => !path.includes("$")
  const waiting = new Set([...routes.filter(isFixed), ...routes.filter((route) => !isFixed(route))])
  const links = new Set(preferred)
  const fixed = new Set(routes.filter(isFixed).map(({ path }) => path))
  const sampleOf = (route: Route) =>
    isFixed(route) ? route.path : [...links].find((link) => patternOf(route.path).test(link) && !fixed.has(link))
  const views: Array<View> = []
  const add = async (route: Route, path: string, tab?: string) => {
    for (const link of await linksIn(page)) links.add(link)
    const isTab = tab !== undefined
    views.push({ route, path, name: nameOf(route.path, tab), isTab, buttons: await buttonsIn(page) })
  }
  for (;;) {
    const route = [...waiting].find((one) => sampleOf(one) !== undefined)
    if (route === undefined) break
    waiting.delete(route)
    const path = sampleOf(route) ?? ""
    await goTo(page, path)
    await add(route, path)
    const tabs = page.locator('main [role="tab"]:not([aria-selected="true"])')
    for (const title of await tabs.allInnerTexts()) {
      await page.getByRole("main").getByRole("tab", { name: title, exact: true }).click()
      await until(page, "location.search.includes('tab=')")
      await settled(page)
      const tab = new URL(page.url()).searchParams.get("tab") ?? title
      await add(route, pathOf(page), tab)
    }
  }
  if (waiting.size > 0) {
    const paths = [...waiting].map(({ path }) => path).join(", ")
    throw new Error(`No link leads to ${paths}: add a record to the furnished organization, or a path to the screens.`)
  }
  return views
}
