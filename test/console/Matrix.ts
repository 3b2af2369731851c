/**
 * Every route of both surfaces, with its tabs, in every state and both themes: no violation of WCAG or of the policy, no error, no
 * foreign request, no secret, nothing wider than the window. The router names the routes, so a new screen is checked by itself.
 */
import { Effect } from "effect"
import type { Route as Request } from "playwright-core"
import type { Tab } from "../support/Browser.ts"
import { violationsIn } from "./Accessibility.ts"
import { faultsAt } from "./Layout.ts"
import { buttonsIn, discover, visit } from "./Views.ts"
import type { View } from "./Views.ts"
import { signIn, World } from "./World.ts"
import { coreScreens, picture, traces } from "./Screens.ts"
import { failed, responseOf } from "./Problems.ts"

const DESKTOP = { width: 1440, height: 900 }
/** A phone, and the narrowest window: also that of 1,280 pixels at 400 %. */
const NARROW = [390, 320] as const

type Surface = "core" | "platform"
type State = "data" | "empty" | "error" | "no-permission"

const isStart = (url: string): boolean => /\/api\/(platform\/)?me$/.test(url)

/** Lets every request fail, but for that of the sign-in. */
const fail = (route: Request) => (isStart(route.request().url()) ? route.fallback() : route.fulfill(responseOf(failed)))

/** Takes the records out of all lists. */
const emptied = async (route: Request) => {
  if (isStart(route.request().url())) return route.fallback()
  const response = await route.fetch()
  const body: unknown = await response.json()
  const isList = typeof body === "object" && body !== null && "items" in body
  return isList
    ? route.fulfill({ response, json: { ...body, items: [], hasMore: false } })
    : route.fulfill({ response })
}

/** The browser itself logs failed requests; in the state of errors they fail on purpose. */
const unexpected = ({ errors }: Tab, state: State): ReadonlyArray<string> =>
  errors.filter((error) => state !== "error" || !error.includes("status of 500"))

interface Walk {
  readonly surface: Surface
  readonly state: State
  readonly origin: string
  readonly secret: string
  readonly views: ReadonlyArray<View>
}

const look = async (tab: Tab, { origin, secret, state, surface }: Walk, view: View): Promise<ReadonlyArray<string>> => {
  const { page } = tab
  const name = `${surface}-${view.name}-${state}`
  const shoot = (variant: string) => picture(page, `${name}-${variant}`)
  await page.setViewportSize(DESKTOP)
  await page.emulateMedia({ colorScheme: "light" })
  const found: Array<string> = []
  found.push(...(await violationsIn(page)), ...(await faultsAt(page, [DESKTOP.width])))
  await shoot("light")
  await page.emulateMedia({ colorScheme: "dark" })
  found.push(...(await violationsIn(page, ["color-contrast"])))
  await shoot("dark")
  if (state === "data") {
    found.push(...(await faultsAt(page, NARROW)))
    await shoot("320")
  }
  if ((await traces(page)).includes(secret)) found.push("the credential is in the page")
  found.push(...unexpected(tab, state))
  found.push(...[...tab.origins].filter((one) => one !== origin).map((one) => `a request to ${one}`))
  return found.map((fault) => `${name}: ${fault}`)
}

/** What must be on a screen in a state. Screens without a scope show more than lists. */
const sign = (state: State, { isTab, route }: View): string | undefined => {
  const { path, scope } = route
  if (scope === undefined || isTab) return undefined
  if (state === "no-permission") return `text=This page needs the scope ${scope}`
  if (state === "error") return ".failure"
  return state === "empty" && !path.includes("$") ? ".empty" : undefined
}

/** Checks all views of a walk in a tab of its own. */
export const walked = Effect.fnUntraced(function* (walk: Walk) {
  const { browser } = yield* World
  const tab = yield* browser.newTab({ viewport: DESKTOP })
  const { page } = tab
  const found: Array<string> = []
  const refused: Array<string> = []
  page.on("response", (response) => {
    if (response.status() === 403) refused.push(`${walk.surface}: refused ${response.url()}`)
  })
  yield* Effect.promise(async () => {
    await signIn(page, walk.origin, walk.secret, "/console/settings", false)
    if (walk.state === "error") await page.route("**/api/**", fail)
    if (walk.state === "empty") await page.route("**/api/**", emptied)
    await visit(page, walk.views, async (view) => {
      found.push(...(await look(tab, walk, view)))
      const says = sign(walk.state, view)
      if (says !== undefined && (await page.getByRole("main").locator(says).count()) === 0) {
        found.push(`${view.name} shows no ${says}`)
      }
    })
    // What a caller may not read is not asked for.
    found.push(...refused)
  })
  return found
})

export const screensOnly = (views: ReadonlyArray<View>) => views.filter(({ isTab }) => !isTab)
export const withoutRecord = (views: ReadonlyArray<View>) => views.filter(({ route }) => !route.path.includes("$"))

/** The views of each surface, found once for an organization. */
const known = new Map<string, ReadonlyArray<View>>()

export const viewsOf = Effect.fnUntraced(function* (surface: Surface) {
  const { browser, core, furnished, operator, platform } = yield* World
  const key = `${surface} ${furnished.organizationId}`
  const found = known.get(key)
  if (found !== undefined) return found
  const { page } = yield* browser.newTab({ viewport: DESKTOP })
  const preferred = {
    core: coreScreens.map(([, path]) => path).filter((path) => !path.includes("?")),
    platform: [`/organizations/${furnished.organizationId}`],
  }
  const views = yield* Effect.promise(async () => {
    if (surface === "core") await signIn(page, core, furnished.token, "/console/settings", false)
    else await signIn(page, platform, operator, "/console/settings", false)
    return discover(page, preferred[surface])
  })
  known.set(key, views)
  return views
})

/** The first word of a button that changes something. */
const CHANGES =
  /^(Activate|Add|Announce|Archive|Change|Create|Deactivate|Delete|Deploy|Disable|Edit|Enable|End|Grant|Issue|Migrate|New|Sign in as|Override|Publish|Recover|Register|Remove|Replace|Retry|Revert|Revoke|Rotate|Save|Set|Test|Unarchive|Upload|Void)\b/

/** Requests that change nothing although they are no GETs. */
const READS = /\/(check|evaluate\/flags(\/[^/]+)?|dry-run)$/

/** What the console offers or sends although the credential may only read. */
export const readOnlyFaults = Effect.fnUntraced(function* (
  origin: string,
  credential: string,
  views: ReadonlyArray<View>,
) {
  const { browser } = yield* World
  const { page } = yield* browser.newTab({ viewport: DESKTOP })
  const found: Array<string> = []
  yield* Effect.promise(async () => {
    await signIn(page, origin, credential, "/console/settings", false)
    page.on("request", (request) => {
      const { pathname } = new URL(request.url())
      if (request.method() !== "GET" && !READS.test(pathname)) found.push(`sent ${request.method()} ${pathname}`)
    })
    await visit(page, views, async (view) => {
      const buttons = await buttonsIn(page)
      const changing = buttons.filter((name) => CHANGES.test(name))
      if (changing.length > 0) found.push(`${view.name} offers ${changing.join(", ")}`)
      const missing = view.buttons.filter((name) => CHANGES.test(name))
      const says = await page.getByRole("main").getByText("Read-only:").count()
      if (missing.length > 0 && says === 0)
        found.push(`${view.name} does not say that ${missing.join(", ")} need a scope`)
    })
  })
  return found
})
