/** Feature flags: empty, read only, and journeys of writing. With them the empty screens of what is shipped. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { describeConsole } from "../Console.ts"
import { checkBoth } from "../Screens.ts"
import { open, signIn, World } from "../World.ts"
import { closed, openMenu, press, select, textbox, WIDE } from "./Dialogs.ts"

const titled = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor()

describeConsole("the console: feature flags", (it) => {
  it.effect(
    "says what zones, releases, components and flags are for, while there are none",
    () =>
      Effect.gen(function* () {
        const { browser, core, empty } = yield* World
        const { page } = yield* browser.newTab(WIDE)
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
            await closed(page)
          }
        })
      }),
    120_000,
  )

  it.effect("lets readers of flags try them out, and offers them no change", () =>
    Effect.gen(function* () {
      const { browser, core, tokenWith } = yield* World
      const token = yield* tokenWith(["read:feature_flags"])
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, token)
        await open(page, core, "/flags?q=dark")
        await page.getByText("1 flag").waitFor()
        assert.strictEqual(await page.getByRole("button", { name: "New flag" }).count(), 0)
        await page.getByRole("link", { name: "dark-mode" }).click()
        await page.getByText("For 25 % of the targeting keys, serve the variant on.").waitFor()
        await page.getByText("Otherwise, serve the default variant off.").waitFor()
        await page.getByText("Read-only:").waitFor()
        assert.strictEqual(await page.getByRole("button", { name: /Edit|Add a rule|Turn off/ }).count(), 0)
        await page.getByRole("tab", { name: "Test" }).click()
        await page.getByRole("button", { name: "Evaluate" }).click()
        // The error of OFREP, which is no problem document.
        await page.getByText('The flag "dark-mode" needs a targeting key.').waitFor()
        await textbox(page, "Targeting key").fill("globex-production")
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
        const { page } = yield* browser.newTab(WIDE)
        const evaluate = async (plan: string) => {
          await textbox(page, "Value").fill(plan)
          await page.getByRole("button", { name: "Evaluate" }).click()
        }
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/flags")
          await page.getByRole("button", { name: "New flag" }).click()
          await textbox(page, "Key").fill("1 no key")
          await press(page, "Create")
          // What the service refuses stands at its field, and what was typed stays.
          const error = page.locator(".field-error")
          await error.waitFor()
          const described = String(await textbox(page, "Key").getAttribute("aria-describedby"))
          assert.include(described.split(" "), String(await error.getAttribute("id")))
          await textbox(page, "Key").fill("new-checkout")
          await textbox(page, "Name").fill("New checkout")
          await press(page, "Create")
          await titled(page, "New checkout")
          await page.getByText("No rules").waitFor()

          await page.getByRole("button", { name: "Add a rule" }).click()
          await textbox(page, "Name").fill("Customers who pay")
          await textbox(page, "Attribute").fill("plan")
          await select(page, /Operator/, "is more than")
          await textbox(page, "Values").fill("pro")
          await press(page, "Save")
          await page.getByText("must be a number").waitFor()
          await checkBoth(page, "a targeting with an error")
          await select(page, /Operator/, "is one of")
          await textbox(page, "Values").fill("pro, enterprise")
          await page
            .getByText("For contexts where plan is pro or enterprise, serve the variant on.", { exact: true })
            .waitFor()
          await press(page, "Save")
          await closed(page)

          await page.getByRole("button", { name: "Add a rule" }).click()
          await page.getByText("JSON", { exact: true }).click()
          await textbox(page, "Rule (JSON)").fill(
            JSON.stringify({
              name: "Nobody on beta",
              variant: "off",
              conditions: [{ attribute: "beta", operator: "EXISTS", values: [] }],
            }),
          )
          await press(page, "Save")
          await closed(page)
          const rules = page.getByRole("list", { name: "Rules" }).getByRole("listitem")
          assert.match(await rules.first().innerText(), /Customers who pay/)
          await page.getByRole("button", { name: "Move Nobody on beta up" }).click()
          await rules.first().getByText("Nobody on beta").waitFor()
          // The focus stays with the targeting that was moved.
          await page.waitForFunction("document.activeElement.getAttribute('aria-label') === 'Move Nobody on beta down'")
          await checkBoth(page, "targetings")

          await page.getByRole("tab", { name: "Test" }).click()
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
    120_000,
  )

  it.effect(
    "does not overwrite what another person changed in a flag, and deletes one",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(WIDE)
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
          await closed(page)
        })
        assert.deepStrictEqual((yield* call("GET", "/feature-flags/shared-flag")).body.targetings, [theirs])
        yield* Effect.promise(async () => {
          await page.getByRole("button", { name: "Edit", exact: true }).click()
          await page.getByRole("button", { name: "Add a variant" }).click()
          await textbox(page, "Variant").last().fill("on")
          await press(page, "Save")
          await page.getByRole("dialog").locator(".field-error").getByText("must be unique").waitFor()
          await page.getByRole("dialog").getByRole("button", { name: "Remove on" }).last().click()
          await textbox(page, "Value").fill("13")
          await textbox(page, "Variant").fill("off")
          await press(page, "Save")
          await page.getByRole("alert").getByRole("listitem").getByText("must be the name of a variant").waitFor()
          await textbox(page, "Variant").fill("on")
          await press(page, "Save")
          await closed(page)
          await page.getByRole("button", { name: "Turn off" }).click()
          await press(page, "Turn off")
          await closed(page)
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
    120_000,
  )
})
