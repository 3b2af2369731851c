/** What is shipped and sold: components, releases and zones, customers and instances, one journey of writing each. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Page } from "playwright-core"
import { describeConsole } from "../Console.ts"
import { checkBoth } from "../Screens.ts"
import { open, signIn, World } from "../World.ts"
import { closed, openMenu, press, textbox, WIDE } from "./Dialogs.ts"

const titled = (page: Page, name: string) => page.getByRole("heading", { level: 1, name, exact: true }).waitFor()

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

describeConsole("the console: releases and customers", (it) => {
  it.effect(
    "builds a component into a release, deploys it to a zone, and rolls back",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(WIDE)
        const release = (version: string) => call("POST", "/releases", { version, componentIds: [] })
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/components/gateway-2026-2-0")
          await page.getByRole("button", { name: "New version" }).click()
          await textbox(page, "Version").fill("3.0.0")
          await press(page, "Create")
          await titled(page, "Gateway 3.0.0")
          await page.getByRole("link", { name: "Gateway 2026.2.0" }).waitFor()
          await page.getByText("No release has this component").waitFor()

          await open(page, core, "/releases")
          await page.getByRole("button", { name: "New release" }).click()
          await textbox(page, "Version").fill("3.0")
          await textbox(page, "Slug").fill("Not a slug!")
          await pick(page, "Add a component", "Gateway 3", "Gateway 3.0.0")
          await page.getByRole("button", { name: "Remove Gateway 3.0.0" }).waitFor()
          await pick(page, "Add a component", "Worker 2026.2", "Worker 2026.2.0")
          await page.getByRole("button", { name: "Move Worker 2026.2.0 up" }).click()
          await press(page, "Create")
          await page.locator(".field-error").waitFor()
          await checkBoth(page, "a release with an error")
          await textbox(page, "Slug").fill("three")
          await press(page, "Create")
          await titled(page, "Release 3.0")
          const rows = page.getByRole("table", { name: "Components" }).getByRole("row")
          assert.match(await rows.nth(1).innerText(), /^Worker 2026\.2\.0/)
          assert.match(await rows.nth(2).innerText(), /^Gateway 3\.0\.0/)

          await open(page, core, "/zones")
          await page.getByRole("button", { name: "New zone" }).click()
          await textbox(page, "Name").fill("Sydney")
          await pick(page, "Type", "sta", "staging")
          await press(page, "Create")
          await titled(page, "Sydney")
          await page.getByText("Runs no release").waitFor()
          await page.getByRole("button", { name: "Deploy a release" }).click()
          await pick(page, "Release", "3.0", "3.0")
          await checkBoth(page, "deploying")
          await press(page, "Deploy")
          await closed(page)
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
          await closed(page)
          await page.getByRole("button", { name: "Delete" }).click()
          await page.getByText("Still in use by").waitFor()
          await page.keyboard.press("Escape")
          await page.getByRole("link", { name: "Sydney" }).click()
          const timeline = page.getByRole("table", { name: "Deployments" })
          await timeline.getByRole("row").nth(1).getByText("3.1").waitFor()
          await timeline.getByRole("button", { name: /^Deploy again: 3\.0 / }).click()
          await page.getByText("The zone runs 3.1 now.").waitFor()
          await press(page, "Deploy")
          await closed(page)
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
          await closed(page)
          await page.getByText("For tests").waitFor()
          await openMenu(page, "Remove the release")
          await press(page, "Remove the release")
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
    120_000,
  )

  it.effect(
    "creates, changes and deletes a customer and its instance with every field",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(WIDE)
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/customers")
          await page.getByRole("button", { name: "New customer" }).click()
          await textbox(page, "Name").fill("Soylent")
          await press(page, "Create")
          await titled(page, "Soylent")
          await page.getByRole("button", { name: "Edit" }).click()
          await page.getByRole("textbox", { name: "Domain" }).fill("soylent.example")
          await page.getByRole("textbox", { name: "External id" }).fill("crm-soylent")
          await press(page, "Save")
          await closed(page)
          await page.getByText("soylent.example").waitFor()

          await page.getByRole("link", { name: "New instance" }).click()
          await textbox(page, "Name").fill("Soylent production")
          assert.strictEqual(await page.getByRole("combobox", { name: "Customer" }).inputValue(), "soylent")
          await pick(page, "License", "enterprise-2", /enterprise-2$/)
          await pick(page, "Zone", "Dub", /Dublin/)
          await page.getByRole("textbox", { name: "Grace period (days)" }).fill("500 days")
          await press(page, "Create")
          await page.locator(".field-error").waitFor()
          await checkBoth(page, "an instance with an error")
          await page.getByRole("textbox", { name: "Grace period (days)" }).fill("7")
          await press(page, "Create")
          await titled(page, "Soylent production")
          await page.getByRole("link", { name: "Dublin" }).waitFor()
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
          await closed(page)
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
    120_000,
  )
})
