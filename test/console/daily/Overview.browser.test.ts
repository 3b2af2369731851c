/** The overview of an organization, the first steps of a new one, help, and requests as commands. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { spawnSync } from "node:child_process"
import type { Page } from "playwright-core"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { faultsAt } from "../Layout.ts"
import { responseOf, failed } from "../Problems.ts"
import { checkBoth } from "../Screens.ts"
import { open, settled, signIn, World } from "../World.ts"

const WIDE = { viewport: { width: 1440, height: 900 } }
const NARROW = [390, 320]

const DAY_MS = 86_400_000
const days = (count: number) => new Date(Date.now() + count * DAY_MS).toISOString()

const step = (page: Page, title: string) => page.getByRole("listitem").filter({ hasText: title })

/** Runs a command as a person pastes it, and returns what it prints. */
const runIn = (command: string, environment: Readonly<Record<string, string>>): string => {
  const { stderr, stdout } = spawnSync("bash", ["-c", command], {
    encoding: "utf8",
    env: { ...process.env, ...environment },
  })
  assert.strictEqual(stderr, "", command)
  return stdout
}

describeConsole("the console: the overview, first steps, help, commands", (it) => {
  it.effect("a new organization has first steps, and each is ticked when its command was run", () =>
    Effect.gen(function* () {
      const { browser, core, tenant } = yield* World
      const { token } = yield* tenant("New")
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, token)
        await page.getByRole("heading", { name: "First steps" }).waitFor()
        await checkBoth(page, "first steps")
        assert.deepStrictEqual(await faultsAt(page, NARROW), [])
        let key = ""
        for (const title of [
          "Define an entitlement",
          "Create a license",
          "Add a customer",
          "Create an instance",
          "Issue a license key",
          "Ask the first check",
        ]) {
          const current = step(page, title)
          if (title === "Add a customer") {
            await current.getByRole("link", { name: "New customer" }).click()
            await page.getByRole("dialog", { name: "New customer" }).waitFor()
            await page.goBack()
          }
          await current.getByText("As curl").click()
          for (const command of await current.locator("pre").allInnerTexts()) {
            const answer: { readonly token?: string; readonly checks?: ReadonlyArray<{ readonly allowed: boolean }> } =
              JSON.parse(runIn(command, { TOKEN: token, KEY: key }))
            key = answer.token ?? key
            if (title === "Ask the first check") assert.isTrue(answer.checks?.[0]?.allowed)
            else assert.notProperty(answer, "code", command)
          }
          // The service stores once a minute that a key was used.
          if (title !== "Ask the first check") await current.getByText(", Done").waitFor({ state: "attached" })
        }
        assert.strictEqual(await page.getByRole("button", { name: "Load the demo" }).count(), 0)
      })
    }),
  )

  it.effect("the demo takes all first steps, and shows its license key once", () =>
    Effect.gen(function* () {
      const { browser, call, core, tenant } = yield* World
      const { token } = yield* tenant("Demo")
      const { page } = yield* browser.newTab(WIDE)
      const key = yield* Effect.promise(async () => {
        await signIn(page, core, token)
        await page.getByRole("button", { name: "Load the demo" }).press("Enter")
        const dialog = page.getByRole("dialog", { name: "License key of the demo" })
        const field = dialog.getByRole("textbox", { name: "License key of the demo" })
        await field.waitFor()
        const shown = await field.inputValue()
        assert.deepStrictEqual(await violationsIn(page), [])
        await dialog.getByText("I have saved it").click()
        await dialog.getByRole("button", { name: "Done" }).click()
        await step(page, "Issue a license key").getByText(", Done").waitFor({ state: "attached" })
        assert.strictEqual(await page.getByRole("button", { name: "Load the demo" }).count(), 0)
        return shown
      })
      const { body, status } = yield* call("GET", "/instances/acme-production", undefined, key)
      assert.deepStrictEqual([status, body.customerSlug, body.licenseSlug], [200, "acme", "pro"])
    }),
  )

  it.effect("a person who may not write has first steps without the demo", () =>
    Effect.gen(function* () {
      const { asOperator, browser, core, tenant } = yield* World
      const { organizationId } = yield* tenant("Read only")
      const { body } = yield* asOperator("POST", `/organizations/${organizationId}/tokens`, {
        name: "Reader",
        scopes: ["read:instances"],
      })
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, body.token)
        await page.getByRole("heading", { name: "First steps" }).waitFor()
        assert.strictEqual(await page.getByRole("button", { name: "Load the demo" }).count(), 0)
        assert.strictEqual(await page.getByRole("link", { name: "New customer" }).count(), 0)
      })
    }),
  )

  it.effect(
    "counts records, names who is near a limit or in grace, and shows the changes of today with who made them",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(WIDE)
        yield* call("POST", "/entitlements", {
          name: "Exports",
          slug: "exports",
          type: "NUMBER",
          aggregationMethod: "SUM",
          resetPeriod: "MONTH",
          warningThresholdPercent: 80,
        })
        yield* call("POST", "/licenses/enterprise-2/entitlements", { entitlementSlug: "exports", value: 100 })
        yield* call("POST", "/instances", {
          name: "Near its limit",
          slug: "near",
          customerSlug: "acme-media",
          licenseSlug: "enterprise-2",
          startLicenseDate: days(-30),
          endLicenseDate: days(400),
        })
        yield* call("POST", "/instances/near/check", {
          checks: [{ entitlement: "exports", requested: 85 }],
          consume: true,
        })
        const customers = (yield* call("GET", "/customers?limit=200")).body.items.length
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/overview")
          const number = page.locator(".counts div", { hasText: "Customers" }).getByRole("link")
          assert.strictEqual(await number.innerText(), String(customers))
          const near = page.getByRole("table", { name: "Near limits" }).getByRole("row", { name: /near.*Exports/ })
          await near.getByText("85 of 100").waitFor()
          await near.getByText("Near the limit").waitFor()
          await page
            .getByRole("table", { name: "Exports of near" })
            .getByText("85", { exact: true })
            .waitFor({ state: "attached" })
          assert.isAtLeast(await page.locator(".trend-bars > span").count(), 30)
          const change = page
            .getByRole("table", { name: "Changes of today" })
            .getByRole("row", { name: /Instance created.*near/ })
          await change.getByText("system:platform").waitFor()
          await checkBoth(page, "overview")
          assert.deepStrictEqual(await faultsAt(page, NARROW), [])
          await number.click()
          await page.getByRole("heading", { level: 1, name: "Customers" }).waitFor()
        })
      }),
  )

  it.effect("says so if the counts cannot be read, and still shows the rest", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token, "/console/settings")
        await page.route("**/api/overview", (route) => route.fulfill(responseOf(failed)))
        await open(page, core, "/overview")
        await page.getByText(failed.errorId).waitFor()
        await page.getByRole("table", { name: "Changes of today" }).waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await page.unroute("**/api/overview")
        await page.getByRole("button", { name: "Try again" }).click()
        await page.locator(".counts").waitFor()
      })
    }),
  )

  it.effect("a form shows what it would send as a command, which does the same and has no credential", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      const sent: Array<string> = []
      page.on("request", (request) => {
        if (request.method() !== "GET") sent.push(request.url())
      })
      const commands = yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/customers")
        await page.getByRole("button", { name: "New customer" }).click()
        const dialog = page.getByRole("dialog")
        await dialog.getByText("As curl").press("Enter")
        await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("O'Neill & Co")
        const command = dialog.locator("pre", { hasText: "O'\\''Neill & Co" })
        await command.waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        const create = await command.innerText()
        await dialog.getByRole("button", { name: "Cancel" }).click()
        await open(page, core, "/customers/acme-media")
        await page.getByRole("button", { name: "Edit" }).click()
        await dialog.getByText("As curl").click()
        await dialog.getByText("Fill in the form, or change something").waitFor()
        await dialog.getByRole("textbox", { name: "Name", exact: true }).fill("Acme Film")
        await dialog.locator("pre", { hasText: "Acme Film" }).waitFor()
        const edit = await dialog.locator("pre").innerText()
        await dialog.getByRole("button", { name: "Cancel" }).click()
        return { create, edit }
      })
      assert.deepStrictEqual(sent, [])
      for (const command of Object.values(commands)) {
        assert.notInclude(command, furnished.token)
        runIn(command, { TOKEN: furnished.token })
      }
      const { body } = yield* call("GET", `/customers?q=${encodeURIComponent("O'Neill")}`)
      assert.strictEqual(body.items[0].name, "O'Neill & Co")
      assert.strictEqual((yield* call("GET", "/customers/acme-media")).body.name, "Acme Film")
    }),
  )

  it.effect("help has the guide of the screen, the keys, what is new, and whether the service answers", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      const news = yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/flags")
        await page.keyboard.press("?")
        const dialog = page.getByRole("dialog", { name: "Help" })
        await dialog.getByText(/^Answers in [\d,]+ ms$/).waitFor()
        await dialog.getByRole("heading", { name: "Keyboard shortcuts" }).waitFor()
        assert.strictEqual(
          await dialog.getByRole("link", { name: "Help for this screen" }).getAttribute("href"),
          "/docs/pages/feature-flags",
        )
        await checkBoth(page, "help")
        const found = await dialog.getByRole("link", { name: "What is new" }).getAttribute("href")
        await page.keyboard.press("Escape")
        await page.route("**/console/config.json", (route) => route.abort())
        await page.getByRole("button", { name: "Help" }).click()
        await dialog.getByText("Does not answer").waitFor()
        assert.deepStrictEqual(await faultsAt(page, [320]), [])
        return found
      })
      const response = yield* Effect.promise(() => fetch(core + news))
      assert.strictEqual(response.status, 200)
      assert.include(yield* Effect.promise(() => response.text()), "Changelog")
    }),
  )

  it.effect("the overview of an organization with records needs no more than eight requests", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      const asked: Array<string> = []
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token, "/console/settings")
        await settled(page)
        page.on("request", (request) => {
          if (request.url().includes("/api/") && !request.headers()["accept"]?.includes("event-stream"))
            asked.push(new URL(request.url()).pathname)
        })
        await page.getByRole("link", { name: "Overview" }).click()
        await page.locator(".counts").waitFor()
        await settled(page)
      })
      assert.isAtMost(asked.length, 8, asked.join("\n"))
    }),
  )
})
