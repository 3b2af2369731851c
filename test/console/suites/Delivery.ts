/** Zones, releases, components, flags and instances: empty, read only, and one journey of writing each. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { violationsIn } from "../Accessibility.ts"
import { open, signIn, World } from "../World.ts"
import type { Suite } from "./Suite.ts"

/** Checks what is on the screen in both themes. */
const checkBoth = async (page: Page, what: string): Promise<void> => {
  await page.emulateMedia({ colorScheme: "light" })
  assert.deepStrictEqual(await violationsIn(page), [], what)
  await page.emulateMedia({ colorScheme: "dark" })
  assert.deepStrictEqual(await violationsIn(page, ["color-contrast"]), [], `${what}, dark`)
}

const box = (page: Page, name: string) => page.getByRole("textbox", { name, exact: true })
const press = (page: Page, name: string) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click()
const titled = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor()
const dialogGone = (page: Page) => page.getByRole("dialog").waitFor({ state: "detached" })

/** Chooses in a field with a list, with the keyboard. */
const pick = async (page: Page, label: string, text: string, option: string | RegExp): Promise<void> => {
  const field = page.getByRole("combobox", { name: label })
  await field.fill(text)
  await page.getByRole("option", { name: option }).waitFor()
  // The list is filtered a moment after the last key.
  await page.getByRole("option").nth(1).waitFor({ state: "detached" })
  await field.press("ArrowDown")
  await field.press("Enter")
}

/** Chooses in a list that a button opens. */
const choose = async (page: Page, label: RegExp, option: string): Promise<void> => {
  await page.getByRole("dialog").getByRole("button", { name: label }).click()
  await page.getByRole("option", { name: option, exact: true }).click()
}

const openMenu = async (page: Page, action: string): Promise<void> => {
  await page.getByRole("button", { name: "More actions" }).click()
  await page.getByRole("menuitem", { name: action }).click()
}

const DESKTOP = { viewport: { width: 1440, height: 900 } } as const

export const suite: Suite = (it) => {
  it.effect(
    "says what zones, releases, components and flags are for, while there are none",
    () =>
      Effect.gen(function* () {
        const { browser, core, empty } = yield* World
        const { page } = yield* browser.newTab(DESKTOP)
        yield* Effect.promise(async () => {
          await signIn(page, core, empty.token)
          for (const [path, title, button] of [
            ["/zones", "No zones yet", "New zone"],
            ["/releases", "No releases yet", "New release"],
            ["/components", "No components yet", "New component"],
            ["/flags", "No feature flags yet", "New flag"],
          ] as const) {
            await open(page, core, path)
            await page.getByText(title).waitFor()
            await checkBoth(page, path)
            await page.getByRole("button", { name: button }).first().click()
            await page.getByRole("dialog").waitFor()
            await checkBoth(page, button)
            await page.keyboard.press("Escape")
            await dialogGone(page)
          }
        })
      }),
    60_000,
  )

  it.effect("lets readers of flags try them out, and offers them no change", () =>
    Effect.gen(function* () {
      const { browser, core, tokenWith } = yield* World
      const token = yield* tokenWith(["read:feature_flags"])
      const { page } = yield* browser.newTab(DESKTOP)
      yield* Effect.promise(async () => {
        await signIn(page, core, token)
        await open(page, core, "/flags?q=dark")
        await page.getByText("1 row").waitFor()
        assert.strictEqual(await page.getByRole("button", { name: "New flag" }).count(), 0)
        await page.getByRole("link", { name: "dark-mode" }).click()
        await page.getByText("For 25 % of the targeting keys, serve the variant on.").waitFor()
        await page.getByText("Otherwise, serve the default variant off.").waitFor()
        await page.getByText("You can read this.").waitFor()
        assert.strictEqual(await page.getByRole("button", { name: /Edit|Add a targeting|Turn off/ }).count(), 0)
        await page.getByRole("tab", { name: "Try out" }).click()
        await page.getByRole("button", { name: "Evaluate" }).click()
        // The error of OFREP, which is no problem document.
        await page.getByText('The flag "dark-mode" needs a targeting key.').waitFor()
        await box(page, "Targeting key").fill("globex-production")
        await page.getByRole("button", { name: "Evaluate" }).click()
        await page.getByRole("heading", { name: "Result" }).waitFor()
        await checkBoth(page, "the result")
        await open(page, core, "/releases")
        await page.getByText("This page needs the scope read:releases").waitFor()
      })
    }),
  )

  it.effect(
    "creates a flag, targets it, orders its targetings, and tries it out",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(DESKTOP)
        const evaluate = async (plan: string) => {
          await box(page, "Value").fill(plan)
          await page.getByRole("button", { name: "Evaluate" }).click()
        }
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/flags")
          await page.getByRole("button", { name: "New flag" }).click()
          await box(page, "Key").fill("1 no key")
          await press(page, "Create")
          // What the service refuses stands at its field, and what was typed stays.
          const error = page.locator(".field-error")
          await error.waitFor()
          const described = String(await box(page, "Key").getAttribute("aria-describedby"))
          assert.include(described.split(" "), String(await error.getAttribute("id")))
          await box(page, "Key").fill("new-checkout")
          await box(page, "Name").fill("New checkout")
          await press(page, "Create")
          await titled(page, "New checkout")
          await page.getByText("No targetings").waitFor()

          await page.getByRole("button", { name: "Add a targeting" }).click()
          await box(page, "Name").fill("Customers who pay")
          await box(page, "Attribute").fill("plan")
          await choose(page, /Operator/, "is more than")
          await box(page, "Values").fill("pro")
          await press(page, "Save")
          await page.getByText("must be a number").waitFor()
          await checkBoth(page, "a targeting with an error")
          await choose(page, /Operator/, "is one of")
          await box(page, "Values").fill("pro, enterprise")
          await page
            .getByText("For contexts where plan is pro or enterprise, serve the variant on.", { exact: true })
            .waitFor()
          await press(page, "Save")
          await dialogGone(page)

          await page.getByRole("button", { name: "Add a targeting" }).click()
          await page.getByText("JSON", { exact: true }).click()
          await box(page, "Targeting (JSON)").fill(
            JSON.stringify({
              name: "Nobody on beta",
              variant: "off",
              conditions: [{ attribute: "beta", operator: "EXISTS", values: [] }],
            }),
          )
          await press(page, "Save")
          await dialogGone(page)
          const rules = page.getByRole("list", { name: "Targetings" }).getByRole("listitem")
          assert.match(await rules.first().innerText(), /Customers who pay/)
          await page.getByRole("button", { name: "Move Nobody on beta up" }).click()
          await rules.first().getByText("Nobody on beta").waitFor()
          // The focus stays with the targeting that was moved.
          await page.waitForFunction("document.activeElement.getAttribute('aria-label') === 'Move Nobody on beta down'")
          await checkBoth(page, "targetings")

          await page.getByRole("tab", { name: "Try out" }).click()
          await page.getByRole("button", { name: "Remove beta" }).click()
          await evaluate("pro")
          await page.getByText("TARGETING_MATCH", { exact: true }).waitFor()
          await page.getByRole("definition").filter({ hasText: /^on$/ }).waitFor()
          await evaluate("free")
          await page.getByText("STATIC", { exact: true }).waitFor()
          await page.getByRole("definition").filter({ hasText: /^off$/ }).waitFor()
        })
        const stored = (yield* call("GET", "/feature-flags/new-checkout")).body
        assert.deepStrictEqual(
          stored.targetings.map(({ name }: { readonly name: string }) => name),
          ["Nobody on beta", "Customers who pay"],
        )
        assert.deepStrictEqual(stored.targetings[1].conditions, [
          { attribute: "plan", operator: "IN", values: ["pro", "enterprise"] },
        ])
      }),
    60_000,
  )

  it.effect(
    "does not overwrite what another person changed in a flag, and deletes one",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(DESKTOP)
        const targeting = { name: "First", variant: "on", conditions: [] }
        yield* call("POST", "/feature-flags", {
          key: "shared-flag",
          type: "string",
          variants: [{ name: "on", value: "12" }],
          targetings: [targeting],
        })
        const theirs = { ...targeting, name: "Theirs" }
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          // Without the stream, the page does not learn of the other change before the service tells it.
          await page.route("**/api/events", (route) => route.abort())
          await open(page, core, "/flags/shared-flag")
          await page.getByText("For every context, serve the variant on.").waitFor()
          await page.getByText("Otherwise, serve nothing: products use the default in their code.").waitFor()
          await page.getByRole("button", { name: "Remove First" }).click()
        })
        yield* call("PUT", "/feature-flags/shared-flag", { targetings: [targeting, theirs] })
        yield* Effect.promise(async () => {
          await press(page, "Delete")
          await page.getByText("Another change came first").waitFor()
          await page.locator(".rules").getByText("Theirs").waitFor()
          await press(page, "Delete")
          await dialogGone(page)
        })
        assert.deepStrictEqual((yield* call("GET", "/feature-flags/shared-flag")).body.targetings, [theirs])
        yield* Effect.promise(async () => {
          await page.getByRole("button", { name: "Edit", exact: true }).click()
          await page.getByRole("button", { name: "Add a variant" }).click()
          await box(page, "Variant").last().fill("on")
          await press(page, "Save")
          await page.getByRole("dialog").locator(".field-error").getByText("must be unique").waitFor()
          await page.getByRole("dialog").getByRole("button", { name: "Remove on" }).last().click()
          await box(page, "Value").fill("13")
          await box(page, "Variant").fill("off")
          await press(page, "Save")
          await page.getByRole("alert").getByRole("listitem").getByText("must be the name of a variant").waitFor()
          await box(page, "Variant").fill("on")
          await press(page, "Save")
          await dialogGone(page)
          await page.getByRole("button", { name: "Turn off" }).click()
          await press(page, "Turn off")
          await dialogGone(page)
        })
        const { enabled, variants } = (yield* call("GET", "/feature-flags/shared-flag")).body
        assert.deepStrictEqual([enabled, variants], [false, [{ name: "on", value: "13" }]])
        yield* Effect.promise(async () => {
          await openMenu(page, "Delete")
          await press(page, "Delete")
          await page.waitForURL(/\/flags$/)
        })
        assert.strictEqual((yield* call("GET", "/feature-flags/shared-flag")).status, 404)
      }),
    60_000,
  )

  it.effect(
    "builds a component into a release, deploys it to a zone, and rolls back",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(DESKTOP)
        const release = (version: string) => call("POST", "/releases", { version, componentIds: [] })
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/components/gateway-2026-2-0")
          await page.getByRole("button", { name: "New version" }).click()
          await box(page, "Version").fill("3.0.0")
          await press(page, "Create")
          await titled(page, "Gateway 3.0.0")
          await page.getByRole("link", { name: "Gateway 2026.2.0" }).waitFor()
          await page.getByText("No release has this component").waitFor()

          await open(page, core, "/releases")
          await page.getByRole("button", { name: "New release" }).click()
          await box(page, "Version").fill("3.0")
          await box(page, "Slug").fill("Not a slug!")
          await pick(page, "Add a component", "Gateway 3", "Gateway 3.0.0")
          await page.getByRole("button", { name: "Remove Gateway 3.0.0" }).waitFor()
          await pick(page, "Add a component", "Worker 2026.2", "Worker 2026.2.0")
          await page.getByRole("button", { name: "Move Worker 2026.2.0 up" }).click()
          await press(page, "Create")
          await page.locator(".field-error").waitFor()
          await checkBoth(page, "a release with an error")
          await box(page, "Slug").fill("three")
          await press(page, "Create")
          await titled(page, "Release 3.0")
          const rows = page.getByRole("table", { name: "Components" }).getByRole("row")
          assert.match(await rows.nth(1).innerText(), /^Worker 2026\.2\.0/)
          assert.match(await rows.nth(2).innerText(), /^Gateway 3\.0\.0/)

          await open(page, core, "/zones")
          await page.getByRole("button", { name: "New zone" }).click()
          await box(page, "Name").fill("Sydney")
          await pick(page, "Type", "sta", "staging")
          await press(page, "Create")
          await titled(page, "Sydney")
          await page.getByText("Runs no release").waitFor()
          await page.getByRole("button", { name: "Deploy a release" }).click()
          await pick(page, "Release", "3.0", "3.0")
          await checkBoth(page, "deploying")
          await press(page, "Deploy")
          await dialogGone(page)
          const first = page.getByRole("table", { name: "Deployments" }).getByRole("row").nth(1)
          await first.getByText("runs now").waitFor()
          await first.getByRole("link", { name: "3.0" }).waitFor()
        })
        yield* release("3.1")
        yield* Effect.promise(async () => {
          await open(page, core, "/releases/3-1?tab=zones")
          await page.getByText("No zone runs this release").waitFor()
          await page.getByRole("button", { name: "Deploy" }).click()
          await pick(page, "Zone", "Syd", /Sydney/)
          await press(page, "Deploy")
          await dialogGone(page)
          await page.getByRole("button", { name: "Delete" }).click()
          await page.getByText("Still in use by").waitFor()
          await page.keyboard.press("Escape")
          await page.getByRole("link", { name: "Sydney" }).click()
          const timeline = page.getByRole("table", { name: "Deployments" })
          await timeline.getByRole("row").nth(1).getByText("3.1").waitFor()
          await timeline.getByRole("button", { name: /^Deploy again: 3\.0 / }).click()
          await page.getByText("The zone runs 3.1 now.").waitFor()
          await press(page, "Deploy")
          await dialogGone(page)
          await timeline.getByRole("row").nth(3).waitFor()
          assert.match(await timeline.getByRole("row").nth(1).innerText(), /^3\.0\s+runs now/)
        })
        const { items } = (yield* call("GET", "/deployment-zones/sydney/deployments")).body
        assert.deepStrictEqual(
          items.map(({ releaseVersion }: { readonly releaseVersion: string }) => releaseVersion),
          ["3.0", "3.1", "3.0"],
        )
        yield* Effect.promise(async () => {
          await page.getByRole("button", { name: "Edit", exact: true }).click()
          await page.getByRole("textbox", { name: "Description" }).fill("For tests")
          await press(page, "Save")
          await dialogGone(page)
          await page.getByText("For tests").waitFor()
          await openMenu(page, "Run no release")
          await press(page, "Run no release")
          await page.getByText("Runs no release").waitFor()
          await openMenu(page, "Delete")
          await page.getByText("No other record is affected.").waitFor()
          await press(page, "Delete")
          await page.waitForURL(/\/zones$/)
          await open(page, core, "/releases/3-1")
          await page.getByRole("button", { name: "Delete" }).click()
          await page.getByText("No other record is affected.").waitFor()
          await press(page, "Delete")
          await page.waitForURL(/\/releases$/)
          await open(page, core, "/components/gateway-3-0-0")
          await page.getByRole("link", { name: "3.0", exact: true }).waitFor()
          await page.getByRole("button", { name: "Delete" }).click()
          await page.getByText("Still in use by").waitFor()
        })
        assert.strictEqual((yield* call("GET", "/deployment-zones/sydney")).status, 404)
        assert.strictEqual((yield* call("GET", "/releases/3-1")).status, 404)
      }),
    60_000,
  )

  it.effect(
    "creates, changes and deletes a customer and its instance with every field",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(DESKTOP)
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/customers")
          await page.getByRole("button", { name: "New customer" }).click()
          await box(page, "Name").fill("Soylent")
          await press(page, "Create")
          await titled(page, "Soylent")
          await page.getByRole("button", { name: "Edit" }).click()
          await page.getByRole("textbox", { name: "Domain" }).fill("soylent.example")
          await page.getByRole("textbox", { name: "External id" }).fill("crm-soylent")
          await press(page, "Save")
          await dialogGone(page)
          await page.getByText("soylent.example").waitFor()

          await page.getByRole("link", { name: "New instance" }).click()
          await box(page, "Name").fill("Soylent production")
          assert.strictEqual(await page.getByRole("combobox", { name: "Customer" }).inputValue(), "soylent")
          await pick(page, "License", "enterprise-2", /enterprise-2$/)
          await pick(page, "Zone", "Dub", /Dublin/)
          await page.getByRole("textbox", { name: "Days of grace" }).fill("500 days")
          await press(page, "Create")
          await page.locator(".field-error").waitFor()
          await checkBoth(page, "an instance with an error")
          await page.getByRole("textbox", { name: "Days of grace" }).fill("7")
          await press(page, "Create")
          await titled(page, "Soylent production")
          await page.getByRole("link", { name: "dublin" }).waitFor()
        })
        const created = (yield* call("GET", "/instances/soylent-production")).body
        assert.deepStrictEqual(
          [created.customerSlug, created.licenseSlug, created.graceDays],
          ["soylent", "enterprise-2", 7],
        )
        assert.isString(created.deploymentZoneId)
        yield* Effect.promise(async () => {
          await page.getByRole("button", { name: "Edit" }).click()
          assert.strictEqual(await page.getByRole("combobox", { name: "Zone" }).inputValue(), "Dublin")
          await page.getByRole("combobox", { name: "Zone" }).fill("")
          await page.keyboard.press("Tab")
          await page.getByRole("textbox", { name: "Description" }).fill("Moved to their own machines")
          await press(page, "Save")
          await dialogGone(page)
        })
        const changed = (yield* call("GET", "/instances/soylent-production")).body
        assert.deepStrictEqual([changed.deploymentZoneId, changed.description], [null, "Moved to their own machines"])
        yield* Effect.promise(async () => {
          await openMenu(page, "Delete")
          await page.getByText("No other record is affected.").waitFor()
          await press(page, "Delete")
          await page.waitForURL(/\/instances$/)
          await open(page, core, "/customers/soylent")
          await page.getByRole("button", { name: "Delete" }).click()
          await page.getByText("No other record is affected.").waitFor()
          await press(page, "Delete")
          await page.waitForURL(/\/customers$/)
        })
        assert.strictEqual((yield* call("GET", "/instances/soylent-production")).status, 404)
        assert.strictEqual((yield* call("GET", "/customers/soylent")).status, 404)
      }),
    60_000,
  )
}
