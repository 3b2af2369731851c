import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"
import type { Page } from "playwright-core"
import * as Browser from "../support/Browser.ts"
import type { Tab } from "../support/Browser.ts"
import { TestService } from "../support/TestService.ts"

/** The first element that the reader sees. */
const visible = (page: Page, selector: string) => page.locator(selector).filter({ visible: true }).first()

/** Checks that a tab loaded everything from the service, without an error or a violation of the policy, and links to no vendor. */
const assertClean = Effect.fnUntraced(function* ({ errors, origins, page }: Tab, origin: string) {
  assert.deepStrictEqual([...origins], [origin])
  assert.deepStrictEqual(errors, [])
  assert.strictEqual(yield* Effect.promise(() => page.locator('a[href*="scalar"]').count()), 0)
})

const PREFIX = "/keyshelf"

/** Starts a reverse proxy that serves the service below a path. */
const startProxy = (origin: string) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((incoming, outgoing) => {
        const path = (incoming.url ?? "").slice(PREFIX.length)
        const forwarded = request(origin + path, { headers: incoming.headers }, (response) => {
          outgoing.writeHead(response.statusCode ?? 502, response.headers)
          response.pipe(outgoing)
        })
        incoming.pipe(forwarded)
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      }),
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`))

const backgroundOf = (page: Page) =>
  Effect.promise(() => page.evaluate("getComputedStyle(document.body).backgroundColor"))

/** Pastes a token, sends the request of an operation from the page, and returns the response that the page got. */
const tryOut = Effect.fnUntraced(function* (page: Page, token: string, path: string) {
  return yield* Effect.promise(async () => {
    await visible(page, 'input[placeholder="Token"]').fill(token)
    const sample = await page.locator("pre", { hasText: path }).first().innerText()
    await page
      .getByRole("button", { name: /Test Request/ })
      .first()
      .click()
    const response = page.waitForResponse((received) => received.url().endsWith(path))
    await page.getByRole("button", { name: /^Send/ }).filter({ visible: true }).first().click()
    const received = await response
    await page.getByText("200 OK").filter({ visible: true }).first().waitFor()
    return { sample, status: received.status(), body: await received.json(), url: received.url() }
  })
})

layer(TestService.separate, { excludeTestServices: true })("the documentation in a browser", (it) => {
  const skipped = it.effect.skipIf(Browser.whyNoBrowser !== undefined)

  skipped(
    Browser.inBrowser("shows all operations of each API"),
    () =>
      Effect.gen(function* () {
        const { core, origins } = yield* TestService
        const browser = yield* Browser.shared
        for (const [path, document] of [
          ["/docs", "/openapi.json"],
          ["/docs/platform", "/openapi/platform.json"],
          ["/docs/webhooks", "/openapi/webhooks.json"],
        ] as const) {
          const tab = yield* browser.newTab()
          const { info, tags } = (yield* core("GET", document)).body
          yield* Effect.promise(async () => {
            await tab.page.goto(origins.core + path)
            await tab.page.getByRole("heading", { name: info.title, exact: true }).waitFor()
            for (const { name } of tags) await tab.page.getByText(name).first().waitFor({ state: "attached" })
          })
          yield* assertClean(tab, origins.core)
        }
      }),
    240_000,
  )

  skipped(
    Browser.inBrowser("sends requests with a pasted token to the listener that serves the page"),
    () =>
      Effect.gen(function* () {
        const { operator, origins, tenant } = yield* TestService
        const { organizationId, token } = yield* tenant()
        const browser = yield* Browser.shared
        const proxy = yield* startProxy(origins.core)
        for (const [base, path, credential] of [
          [origins.core, "/api/me", token],
          [origins.platform, "/api/platform/me", operator],
          [`${proxy}${PREFIX}`, "/api/me", token],
        ] as const) {
          const tab = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
          yield* Effect.promise(() => tab.page.goto(`${base}/docs`))
          const { body, sample, status, url } = yield* tryOut(tab.page, credential, path)
          assert.deepStrictEqual([status, url], [200, base + path])
          if (path === "/api/me") assert.strictEqual(body.organizationId, organizationId)
          else assert.include(body.scopes, "write:*")
          assert.include(sample, `curl ${base}${path}`)
          assert.include(sample, `Authorization: Bearer ${credential}`)
          yield* assertClean(tab, new URL(base).origin)
        }
      }),
    240_000,
  )

  skipped(
    Browser.inBrowser("sends no requests to an API of another listener, and names the page that does"),
    () =>
      Effect.gen(function* () {
        const { origins } = yield* TestService
        const { page } = yield* (yield* Browser.shared).newTab()
        yield* Effect.promise(async () => {
          await page.goto(`${origins.core}/docs/platform`)
          await page.getByText("To send requests from the page").waitFor()
          await page.getByText("Keyshelf Platform API").first().waitFor()
        })
        assert.strictEqual(yield* Effect.promise(() => page.getByRole("button", { name: /Test Request/ }).count()), 0)
      }),
    240_000,
  )

  skipped(
    Browser.inBrowser("finds pages by their words, and opens them"),
    () =>
      Effect.gen(function* () {
        const { origins } = yield* TestService
        const tab = yield* (yield* Browser.shared).newTab({ viewport: { width: 390, height: 844 } })
        const { page } = tab
        yield* Effect.promise(async () => {
          await page.goto(`${origins.core}/docs/pages`)
          await page.getByRole("searchbox").fill("pgbouncer transaction")
          await page.locator("#results a").first().click()
          await page.waitForURL(/\/docs\/pages\/scaling/)
          await page.getByRole("heading", { level: 1 }).waitFor()
          await page.getByRole("searchbox").fill("zzzz nothing")
          await page.getByText("No page contains all these words.").waitFor()
        })
        // Nothing is wider than the screen of a phone.
        assert.isAtMost(Number(yield* Effect.promise(() => page.evaluate("document.documentElement.scrollWidth"))), 390)
        yield* assertClean(tab, origins.core)
      }),
    240_000,
  )

  skipped(
    Browser.inBrowser("is dark for readers whose system is dark"),
    () =>
      Effect.gen(function* () {
        const { origins } = yield* TestService
        const browser = yield* Browser.shared
        for (const path of ["/docs", "/docs/pages"]) {
          const backgrounds = yield* Effect.forEach(["light", "dark"] as const, (colorScheme) =>
            Effect.gen(function* () {
              const { page } = yield* browser.newTab({ colorScheme })
              yield* Effect.promise(() => page.goto(origins.core + path))
              yield* Effect.promise(() => page.getByRole("heading", { level: 1 }).first().waitFor())
              return yield* backgroundOf(page)
            }),
          )
          const [light, dark] = backgrounds.map((color) => Number(/\d+/.exec(String(color))?.[0]))
          assert.isAbove(light ?? 0, 200, path)
          assert.isBelow(dark ?? 255, 50, path)
        }
      }),
    240_000,
  )
})
