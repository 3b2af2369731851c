/** Much and long: 10,000 customers, names of 255 characters, a phone that is touched, and how often a screen asks. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { layoutFaults } from "../Layout.ts"
import { goTo } from "../Views.ts"
import { describeConsole } from "../Console.ts"
import { open, settled, signIn, until, World } from "../World.ts"
import { assertClean } from "../Screens.ts"

const DESKTOP = { width: 1440, height: 900 }

const CUSTOMERS = 10_000
const MAX_ROWS = 60
const MAX_HEAP = 60_000_000

/** Who is asking, the stream of events; the instance, its license, zone, release, usage, usage over time, and a check. */
const MAX_REQUESTS = 9

const SEED = `
  INSERT INTO customers (organization_id, id, name, slug, created_at, created_by, updated_at, updated_by)
  SELECT $1::uuid, gen_random_uuid(), 'Customer ' || n, 'customer-' || n, now(), actor, now(), actor
  FROM generate_series(1, $2::int) n, jsonb_build_object('id', $1::uuid, 'name', 'Seed') actor`

const ZONES = 300

const SEED_ZONES = `
  INSERT INTO deployment_zones (organization_id, id, name, slug, type, metadata, created_at, created_by, updated_at, updated_by)
  SELECT $1::uuid, gen_random_uuid(), 'Zone ' || n, 'zone-' || n, 'production', '{}', now(), actor, now(), actor
  FROM generate_series(1, $2::int) n, jsonb_build_object('id', $1::uuid, 'name', 'Seed') actor`

/** Counts the rows of the page whenever they change, so that none is missed between two looks. */
const watchRows = `
  window.mostRows = 0
  const count = () => (window.mostRows = Math.max(window.mostRows, document.querySelectorAll('[role="row"]').length))
  new MutationObserver(count).observe(document.body, { childList: true, subtree: true })
  count()`

/** Scrolls on and on until the last row of so many is there. */
const scrollToEnd = async (page: Page, count: number): Promise<void> => {
  // The header is the first row.
  const last = page.locator(`[role="row"][aria-rowindex="${count + 1}"]`)
  while ((await last.count()) === 0) {
    const before: number = await page.evaluate("document.body.scrollHeight")
    await page.evaluate("scrollTo(0, document.body.scrollHeight)")
    await until(
      page,
      `document.body.scrollHeight > ${before} || document.querySelector('[aria-rowindex="${count + 1}"]') !== null`,
    )
  }
}

const heapOf = async (page: Page): Promise<number> => {
  const session = await page.context().newCDPSession(page)
  await session.send("HeapProfiler.enable")
  await session.send("HeapProfiler.collectGarbage")
  const { usedSize } = await session.send("Runtime.getHeapUsage")
  await session.detach()
  return usedSize
}

/** A name of 255 characters that begins with a word: all in one, or in words. */
const longName = (word: string, isOneWord: boolean): string =>
  (isOneWord ? word + "W".repeat(255) : word + " much too long".repeat(30)).slice(0, 255)

/** How a touch iPhone looks to React Aria. */
const POSE = `
  Object.defineProperty(navigator, "platform", { get: () => "iPhone" })
  Object.defineProperty(navigator, "userAgentData", { get: () => undefined })`
const IPHONE =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"

describeConsole("the console: much and long", (it) => {
  it.effect(
    "scrolls through 10,000 customers with few rows in the page and little memory",
    () =>
      Effect.gen(function* () {
        const { browser, core, sql, tenant } = yield* World
        const { organizationId, token } = yield* tenant("Ten thousand")
        yield* sql(SEED, [organizationId, CUSTOMERS])
        const { page } = yield* browser.newTab({ viewport: DESKTOP })
        yield* Effect.promise(async () => {
          await signIn(page, core, token)
          await open(page, core, "/customers")
          const table = page.getByRole("table", { name: "Customers" })
          // How many there are is not known before the end.
          assert.strictEqual(await table.getAttribute("aria-rowcount"), "-1")
          await page.evaluate(watchRows)
          await scrollToEnd(page, CUSTOMERS)
          assert.strictEqual(await table.getAttribute("aria-rowcount"), String(CUSTOMERS + 1))
          const last = page.locator(`[role="row"][aria-rowindex="${CUSTOMERS + 1}"]`)
          await last.getByRole("link").waitFor()
          const most: number = await page.evaluate("window.mostRows")
          assert.isAbove(most, 10)
          assert.isAtMost(most, MAX_ROWS)
          assert.isAtMost(await heapOf(page), MAX_HEAP)
        })
      }),
    120_000,
  )

  it.effect(
    "keeps its layout with names of 255 characters",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, tenant } = yield* World
        const { token } = yield* tenant(longName("Organization", false))
        const create = (path: string, body: object) => call("POST", path, body, token)
        for (const isOneWord of [true, false]) {
          const suffix = isOneWord ? "w" : "s"
          const name = (word: string) => longName(word, isOneWord)
          for (const [path, body] of [
            ["/customers", { slug: `customer-${suffix}`, externalCustomerId: name("id"), domain: "example.com" }],
            ["/licenses", { slug: `license-${suffix}`, type: "PAID" }],
            ["/deployment-zones", { type: "production", slug: `zone-${suffix}` }],
            ["/service-accounts", { slug: `account-${suffix}` }],
            [
              "/instances",
              {
                slug: `instance-${suffix}`,
                customerSlug: `customer-${suffix}`,
                licenseSlug: `license-${suffix}`,
                startLicenseDate: "2026-01-01T00:00:00Z",
                endLicenseDate: null,
              },
            ],
          ] as const) {
            const { body: answer, status } = yield* create(path, { name: name(path.slice(1)), ...body })
            assert.strictEqual(status, 201, `${path} ${JSON.stringify(answer)}`)
          }
        }
        const { page } = yield* browser.newTab({ viewport: DESKTOP })
        const found = yield* Effect.promise(async () => {
          await signIn(page, core, token)
          const faults: Array<string> = []
          for (const width of [1440, 390, 320]) {
            await page.setViewportSize({ width, height: 900 })
            for (const list of ["customers", "instances", "licenses", "zones", "service-accounts"]) {
              const one = list === "service-accounts" ? "account" : list.slice(0, -1)
              for (const path of [`/${list}`, `/${list}/${one}-w`, `/${list}/${one}-s`]) {
                await goTo(page, path)
                faults.push(...(await layoutFaults(page)).map((fault) => `${path}: ${fault}`))
              }
            }
            await page.keyboard.press("Control+k")
            await page.getByRole("combobox").fill("customers")
            await page.getByRole("option").first().waitFor()
            faults.push(...(await layoutFaults(page)).map((fault) => `search: ${fault}`))
            await page.keyboard.press("Escape")
          }
          return faults
        })
        assert.deepStrictEqual(found, [])
      }),
    120_000,
  )

  it.effect("locks scrolling behind a dialog on a touch iPhone without a violation of the policy", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const tab = yield* browser.newTab({
        viewport: { width: 390, height: 844 },
        userAgent: IPHONE,
        hasTouch: true,
        isMobile: true,
      })
      const { page } = tab
      yield* Effect.promise(async () => {
        await page.addInitScript(POSE)
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers")
        await page.getByRole("button", { name: "New customer" }).tap()
        await page.getByRole("dialog").waitFor()
        // The style that the policy allows by its hash: without it, React Aria did not take this for an iPhone.
        const applied = await page.evaluate(
          "[...document.styleSheets].some(({ ownerNode }) => ownerNode.tagName === 'STYLE')",
        )
        assert.isTrue(applied)
        assert.strictEqual(await page.evaluate("getComputedStyle(document.body).overscrollBehavior"), "contain")
        await page.getByRole("dialog").getByRole("button", { name: "Cancel" }).tap()
        await page.getByRole("dialog").waitFor({ state: "detached" })
      })
      assertClean(tab, core, "iPhone")
    }),
  )

  it.effect("asks for an instance in few requests", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab({ viewport: DESKTOP })
      const asked: Array<string> = []
      const loaded: Array<string> = []
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        page.on("request", (request) => {
          const { pathname } = new URL(request.url())
          if (pathname.startsWith("/api/")) asked.push(pathname)
          else if (/\.(js|css)$/.test(pathname)) loaded.push(pathname)
        })
        await open(page, core, "/instances/acme-logistics-production")
        await page.locator(".chart canvas").waitFor()
        await settled(page)
      })
      assert.isAtMost(asked.length, MAX_REQUESTS, asked.join("\n"))
      assert.deepStrictEqual(asked.length, new Set(asked).size, "each is sent once")
      assert.isAbove(loaded.length, 0)
    }),
  )

  it.effect("names the zone of an instance and the release that it runs, among hundreds of zones", () =>
    Effect.gen(function* () {
      const { browser, call, core, sql, tenant } = yield* World
      const { organizationId, token } = yield* tenant("Hundreds of zones")
      const add = (path: string, body: object) =>
        Effect.map(call("POST", path, body, token), (made) => {
          assert.strictEqual(made.status, 201, made.text)
          return made.body
        })
      const release = yield* add("/releases", { version: "4.2.1", componentIds: [] })
      const zone = yield* add("/deployment-zones", { name: "First", type: "production", releaseId: release.id })
      yield* sql(SEED_ZONES, [organizationId, ZONES])
      yield* add("/customers", { name: "Acme" })
      yield* add("/licenses", { name: "Pro", type: "PAID" })
      yield* add("/instances", {
        name: "In the first",
        customerSlug: "acme",
        licenseSlug: "pro",
        deploymentZoneId: zone.id,
        startLicenseDate: "2026-01-01T00:00:00Z",
        endLicenseDate: null,
      })
      const { page } = yield* browser.newTab({ viewport: DESKTOP })
      yield* Effect.promise(async () => {
        await signIn(page, core, token)
        await open(page, core, "/instances/in-the-first")
        await page.getByText("zone First, release 4.2.1").waitFor()
        await page.getByRole("link", { name: "First", exact: true }).click()
        await page.getByRole("heading", { level: 1, name: "First" }).waitFor()
      })
    }),
  )
})
