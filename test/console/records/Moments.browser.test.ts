/** Fields for moments outside of records: an incomplete date is never taken for none, in new records, checks and filters. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { open, signIn, until, World } from "../World.ts"
import { press, WIDE } from "./Dialogs.ts"

const INSTANCE = "acme-logistics-production"
const INCOMPLETE = "The date is incomplete."

const said = (page: Page) => page.locator(".field-error").filter({ hasText: INCOMPLETE })

/** The bodies that are posted to a path from now on. */
const postsTo = (page: Page, path: string): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  const bodies: Array<Readonly<Record<string, unknown>>> = []
  page.on("request", (request) => {
    if (request.method() === "POST" && request.url().endsWith(path)) bodies.push(request.postDataJSON())
  })
  return bodies
}

describeConsole("the console: fields for moments", (it) => {
  it.effect(
    "an incomplete expiry of a key, a token and an override sends nothing",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab({ ...WIDE, timezoneId: "Pacific/Kiritimati" })
        const dialog = page.getByRole("dialog")
        const keys = postsTo(page, `/instances/${INSTANCE}/keys`)
        const tokens = postsTo(page, "/service-accounts/build-pipeline/tokens")
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, `/instances/${INSTANCE}?tab=keys`)
          await page.getByRole("main").getByRole("button", { name: "New key" }).click()
          await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("Half a date")
          const expires = dialog.getByLabel(/^Expires/)
          await expires.focus()
          // The month and the day, and no year.
          await page.keyboard.type("0630")
          await press(page, "Create")
          await said(page).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          assert.deepStrictEqual(keys, [])
          await expires.fill("2099-06-30T12:00")
          await said(page).waitFor({ state: "detached" })
          await press(page, "Create")
          await page.getByText("I have saved it").click()
          await press(page, "Done")

          await open(page, core, "/service-accounts/build-pipeline")
          await page.getByRole("button", { name: "Issue a token" }).click()
          await dialog.getByRole("textbox", { name: "Name" }).fill("Half a date")
          await dialog.getByRole("button", { name: "Read everything" }).click()
          await dialog.getByLabel(/^Expires/).focus()
          await page.keyboard.type("0630")
          await press(page, "Issue a token")
          await said(page).waitFor()
          await page.keyboard.press("Escape")

          await open(page, core, `/instances/${INSTANCE}?tab=overrides`)
          await page.getByRole("main").getByRole("button", { name: "Override a limit" }).first().click()
          await dialog.getByRole("textbox", { name: "Value", exact: true }).fill("1")
          await dialog.getByLabel(/^Until/).focus()
          await page.keyboard.type("0630")
          await press(page, "Save")
          await said(page).waitFor()
        })
        assert.deepStrictEqual(
          keys.map(({ expiresAt }) => expiresAt),
          ["2099-06-30T12:00:00.000Z"],
        )
        assert.deepStrictEqual(tokens, [])
        const overrides = (yield* call("GET", `/instances/${INSTANCE}/overrides`)).body.items
        assert.isFalse(overrides.some(({ value }: { readonly value: unknown }) => value === 1))
      }),
    120_000,
  )

  it.effect(
    "an incomplete or missing moment of a check asks nothing about now",
    () =>
      Effect.gen(function* () {
        const { browser, core, furnished } = yield* World
        const { page } = yield* browser.newTab({ ...WIDE, timezoneId: "Asia/Kolkata" })
        const checks = postsTo(page, "/check")
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, `/instances/${INSTANCE}`)
          await page.getByRole("main").getByRole("button", { name: "Check" }).click()
          const dialog = page.getByRole("dialog")
          await dialog.getByText("At a time").click()
          const moment = dialog.getByLabel(/^Time/).last()
          const before = checks.filter(({ explain }) => explain === true).length
          await press(page, "Check")
          await dialog.locator(".field-error").filter({ hasText: "A date and a time are needed." }).waitFor()
          await moment.focus()
          await page.keyboard.type("0630")
          await press(page, "Check")
          await said(page).waitFor()
          await moment.fill("2026-06-30T12:00")
          const asked = page.waitForRequest((request) => String(request.postData()).includes('"at"'))
          await press(page, "Check")
          assert.strictEqual((await asked).postDataJSON().at, "2026-06-30T12:00:00.000Z")
          const later = checks.filter(({ explain }) => explain === true).slice(before)
          assert.isTrue(later.every(({ at }) => at !== undefined && at !== ""))
        })
      }),
    120_000,
  )

  it.effect(
    "an incomplete filter stays what it was and says so, and an emptied one goes",
    () =>
      Effect.gen(function* () {
        const { browser, core, furnished } = yield* World
        const { page } = yield* browser.newTab({ ...WIDE, timezoneId: "Pacific/Honolulu" })
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/events?since=2026-01-15T12:34:56.789Z")
          const since = page.getByLabel(/^Since/)
          assert.strictEqual(await since.inputValue(), "2026-01-15T12:34:56.789")
          await since.focus()
          await page.keyboard.press("Backspace")
          assert.strictEqual(await since.inputValue(), "")
          await page.getByLabel(/^Until/).focus()
          await said(page).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          assert.include(decodeURIComponent(page.url()), "since=2026-01-15T12:34:56.789Z")
          await since.press("2")
          await said(page).waitFor({ state: "detached" })
          await until(page, "decodeURIComponent(location.search).includes('since=2026-02-15T12:34:56.789Z')")
          await since.fill("")
          await until(page, "!location.search.includes('since')")
        })
      }),
    120_000,
  )
})
