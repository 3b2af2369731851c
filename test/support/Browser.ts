/** Drives the Chromium of this machine, if there is one: pages of the service as people use them. */
import { Effect } from "effect"
import type { Scope } from "effect"
import { spawnSync } from "node:child_process"
import { chromium } from "playwright-core"
import type { BrowserContextOptions, Page } from "playwright-core"
import { startShared } from "./shared.ts"
import { withReason } from "./skipped.ts"

// The shell has no address bar and no pages of its own, which cost more than the pages of a test.
const PATHS = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
]

const executablePath = PATHS.find((path) => spawnSync(path, ["--version"], { stdio: "ignore" }).status === 0)

/** Why tests in a browser are skipped, or `undefined` if a browser is installed. */
export const whyNoBrowser = executablePath === undefined ? "no Chromium is installed" : undefined

/** The name of a test, with the reason if it is skipped. */
export const inBrowser = (name: string): string => withReason(name, whyNoBrowser)

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
]

/** A tab with a profile of its own, and what it did that tests check. */
export interface Tab {
  readonly page: Page
  /** Origins of all requests, blocked ones included. `data:` and `blob:` URLs have none. */
  readonly origins: ReadonlySet<string>
  /** Errors of the console, among them violations of the content security policy, and uncaught exceptions. */
  readonly errors: ReadonlyArray<string>
}

const watched = (page: Page): Tab => {
  const origins = new Set<string>()
  const errors: Array<string> = []
  page.on("request", (request) => {
    const { origin } = new URL(request.url())
    if (origin !== "null") origins.add(origin)
  })
  page.on("console", (message) => {
    if (message.type() === "error" || /content security policy/i.test(message.text())) errors.push(message.text())
  })
  page.on("pageerror", (error) => errors.push(String(error)))
  return { page, origins, errors }
}

/** A running browser. */
export interface Browser {
  /** Opens an empty tab with an empty profile, which is closed with the scope. */
  readonly newTab: (options?: BrowserContextOptions) => Effect.Effect<Tab, never, Scope.Scope>
}

/**
 * Starts a browser for several processes, and ends it with the scope. Returns the address for `connect`. Requests that the browser makes
 * by itself, such as for updates, are off.
 */
export const serve: Effect.Effect<string, never, Scope.Scope> = Effect.acquireRelease(
  Effect.promise(() =>
    chromium.launchServer({
      executablePath: executablePath ?? "chromium",
      args: FLAGS,
      timeout: 60_000,
      host: "127.0.0.1",
    }),
  ),
  (server) => Effect.promise(() => server.close()),
).pipe(Effect.map((server) => server.wsEndpoint()))

/**
 * Uses a running browser. Its tabs of this connection are closed with the scope. By Playwright's protocol: a connection by CDP would
 * attach itself to the tabs of all others.
 */
export const connect = (address: string): Effect.Effect<Browser, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => chromium.connect(address, { timeout: 60_000 })),
    (browser) => Effect.promise(() => browser.close()),
  ).pipe(
    Effect.map((browser) => ({
      newTab: (options) =>
        Effect.acquireRelease(
          Effect.promise(() => browser.newContext(options)),
          (context) => Effect.promise(() => context.close()),
        ).pipe(
          Effect.flatMap((context) => Effect.promise(() => context.newPage())),
          Effect.map(watched),
        ),
    })),
  )

/** The browser that all test files of a run share. Dies without one: guard tests by `skipIf(whyNoBrowser !== undefined)`. */
export const shared: Effect.Effect<Browser, never, Scope.Scope> = Effect.flatMap(startShared("browser"), connect)
