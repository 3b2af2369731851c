/** Empty, failed, not allowed; the keyboard; live changes. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { open, settled, signIn, World } from "../World.ts"
import { failed, responseOf } from "../Problems.ts"

const MAX_TABS = 100

/** Presses Tab until an element has the focus. */
const tabTo = async (page: Page, target: Locator): Promise<void> => {
  for (let presses = 0; presses < MAX_TABS; presses++) {
    await page.keyboard.press("Tab")
    if ((await target.and(page.locator(":focus")).count()) > 0) return
  }
  throw new Error(`Tab does not reach ${String(target)}`)
}

describeConsole("the console: states of screens, the keyboard, live changes", (it) => {
  it.effect("says what an empty list is for", () =>
    Effect.gen(function* () {
      const { browser, core, empty } = yield* World
      const { page } = yield* browser.newTab()
      yield* Effect.promise(async () => {
        await signIn(page, core, empty.token)
        for (const [path, title] of [
          ["/customers", "No customers yet"],
          ["/instances", "No instances yet"],
          ["/service-accounts", "No service accounts yet"],
        ] as const) {
          await open(page, core, path)
          await page.getByText(title).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [], path)
        }
      })
    }),
  )

  it.effect("shows an error with its code, and tries again", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab()
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await page.route("**/api/customers?*", (route) => route.fulfill(responseOf(failed)))
        await page.goto(`${core}/console/customers`)
        await page.getByText(failed.errorId).waitFor()
        await page.getByText(failed.code).waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await page.unroute("**/api/customers?*")
        await page.getByRole("button", { name: "Try again" }).click()
        await page.getByRole("link", { name: "Acme Media" }).waitFor()
      })
    }),
  )

  it.effect("offers to issue offline bundles with the scope of licenses, and to edit with that of instances", () =>
    Effect.gen(function* () {
      const { browser, core, tokenWith } = yield* World
      for (const [scope, offered, missing] of [
        ["write:licenses", "Issue bundle", "Edit"],
        ["write:instances", "Edit", "Issue bundle"],
      ] as const) {
        const { page } = yield* browser.newTab()
        const token = yield* tokenWith(["read:instances", scope])
        yield* Effect.promise(async () => {
          await signIn(page, core, token)
          await open(page, core, "/instances/acme-logistics-production")
          await page.getByRole("button", { name: offered, exact: true }).waitFor()
          assert.strictEqual(await page.getByRole("button", { name: missing, exact: true }).count(), 0, scope)
        })
      }
    }),
  )

  it.effect("shows only what the scopes allow, and sends no write without them", () =>
    Effect.gen(function* () {
      const { browser, core, tokenWith } = yield* World
      const token = yield* tokenWith(["read:customers"])
      const { page } = yield* browser.newTab()
      const refused: Array<string> = []
      page.on("response", (response) => {
        if (response.status() === 403) refused.push(response.url())
      })
      yield* Effect.promise(async () => {
        await signIn(page, core, token)
        await open(page, core, "/customers")
        await page.getByRole("link", { name: "Acme Media" }).waitFor()
        assert.strictEqual(await page.getByRole("button", { name: "New customer" }).count(), 0)
        await page.getByText("Read-only:").waitFor()
        assert.deepStrictEqual(await page.getByRole("navigation").getByRole("link").allInnerTexts(), [
          "Overview",
          "Customers",
          "Settings",
        ])
        await open(page, core, "/instances")
        await page.getByText("This page needs the scope read:instances").waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await open(page, core, "/customers/acme-media")
        await page.getByText("This page needs the scope read:instances").waitFor()
        // Nothing was asked that the caller may not ask.
        assert.deepStrictEqual(refused, [])
      })
    }),
  )

  it.effect("keeps the theme and the shortcuts that a person chose, and shows the signing keys", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab({ viewport: { width: 1440, height: 900 }, colorScheme: "light" })
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/settings")
        await page.getByText("Dark", { exact: true }).click()
        await page.getByText("Single-key shortcuts").click()
        await page.getByRole("button", { name: "Add a signing key for event log" }).click()
        await page.getByRole("dialog").getByRole("button", { name: "Add a signing key for event log" }).click()
        await page.getByRole("dialog").waitFor({ state: "detached" })
        await page.getByRole("table", { name: "Signing keys" }).getByText("Event log").first().waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await page.reload()
        await settled(page)
        assert.strictEqual(await page.evaluate("document.documentElement.dataset.theme"), "dark")
        await page.keyboard.press("g")
        await page.keyboard.press("c")
        assert.match(page.url(), /\/settings$/)
      })
    }),
  )

  it.effect("signs in, creates a customer and revokes a token with the keyboard alone", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* call("POST", "/service-accounts", { name: "Keyboard robot", slug: "keyboard-robot" })
      yield* call("POST", "/service-accounts/keyboard-robot/tokens", { name: "Keys", scopes: ["read:customers"] })
      const { page } = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
      const press = async (target: Locator) => {
        await tabTo(page, target)
        await page.keyboard.press("Enter")
      }
      yield* Effect.promise(async () => {
        await page.goto(`${core}/console`)
        const field = page.getByLabel(/^Access token/)
        await field.waitFor()
        if ((await field.and(page.locator(":focus")).count()) === 0) await tabTo(page, field)
        await page.keyboard.insertText(furnished.token)
        await page.keyboard.press("Enter")
        await page.locator("main#main").waitFor()
        await page.keyboard.press("g")
        await page.keyboard.press("c")
        await page.getByRole("heading", { level: 1, name: "Customers" }).waitFor()
        await press(page.getByRole("button", { name: "New customer" }))
        // The first field of a dialog has the focus.
        await page
          .getByRole("dialog")
          .getByRole("textbox", { name: "Name", exact: true })
          .and(page.locator(":focus"))
          .waitFor()
        await page.keyboard.type("Keyboard Ltd")
        await press(page.getByRole("dialog").getByRole("button", { name: "Create" }))
        await page.getByRole("dialog").waitFor({ state: "detached" })
        await press(page.getByRole("navigation").getByRole("link", { name: "Service accounts" }))
        await page.getByRole("heading", { level: 1, name: "Service accounts" }).waitFor()
        await press(page.getByRole("link", { name: "Keyboard robot" }))
        await page.getByRole("button", { name: "Revoke Keys" }).waitFor()
        await press(page.getByRole("button", { name: "Revoke Keys" }))
        await press(page.getByRole("dialog").getByRole("button", { name: "Revoke" }))
        await page.getByText("Revoked", { exact: true }).waitFor()
      })
      const created = yield* call("GET", "/customers?q=keyboard-ltd")
      assert.deepStrictEqual(
        created.body.items.map(({ name }: { readonly name: string }) => name),
        ["Keyboard Ltd"],
      )
      yield* call("DELETE", "/customers/keyboard-ltd")
      yield* call("DELETE", "/service-accounts/keyboard-robot")
    }),
  )

  it.effect("works with the keyboard alone", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers")
        await page.keyboard.press("Tab")
        await page.keyboard.press("g")
        await page.keyboard.press("i")
        await page.getByRole("heading", { level: 1, name: "Instances" }).waitFor()
        await page.keyboard.press("/")
        await page.keyboard.type("globex health prod")
        await page.waitForURL(/q=globex/)
        await page.getByText("1 instance", { exact: true }).waitFor()
        await page.keyboard.press("Control+k")
        await page.getByRole("combobox").waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await page.keyboard.type("acme log")
        await page.getByRole("option", { name: /Acme Logistics production/ }).waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await page.keyboard.press("Enter")
        const title = page.getByRole("heading", { level: 1 })
        await page.getByRole("tab", { name: "Usage" }).waitFor()
        assert.match(await title.innerText(), /^Acme Logistics/)
        // The focus is where the person is.
        assert.strictEqual(await page.evaluate("document.activeElement.tagName"), "H1")
        await page.keyboard.press("?")
        await page.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor()
      })
    }),
  )

  it.effect("shows events as they happen, also after the stream was cut", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      const { page } = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
      const create = (name: string) => call("POST", "/customers", { name, slug: name })
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/events")
      })
      yield* create("live-one")
      yield* Effect.promise(() => page.getByRole("link", { name: "live-one" }).waitFor())
      yield* Effect.promise(() => page.context().setOffline(true))
      yield* create("live-two")
      yield* Effect.promise(async () => {
        await page.context().setOffline(false)
        await page.getByRole("link", { name: "live-two" }).waitFor()
      })
      for (const name of ["live-one", "live-two"]) yield* call("DELETE", `/customers/${name}`)
    }),
  )
})
