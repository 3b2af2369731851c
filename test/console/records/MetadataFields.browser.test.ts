/** Forms from JSON Schema: metadata fields and their values. Also what the screens around them say without data or scopes. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { assertClean, checkScreens } from "../Screens.ts"
import { open, SALESFORCE, signIn, World } from "../World.ts"
import { errorOf, select, WIDE } from "./Dialogs.ts"
import { failed, responseOf } from "../Problems.ts"

const INSTANCE = "acme-media-production"

const RACKS = {
  type: "object",
  required: ["racks"],
  properties: {
    racks: { type: "integer", minimum: 1, title: "Racks" },
    tier: { enum: ["gold", "silver"], title: "Tier" },
    hosts: { type: "array", items: { type: "string", pattern: "^[a-z]+$" }, title: "Hosts" },
    free: { oneOf: [{ type: "string" }, { type: "number" }], title: "Free" },
  },
}

const WITHOUT_ANYTHING = [
  ["/metadata-fields", "No metadata fields yet"],
  ["/webhooks?tab=history", "No deliveries"],
  ["/webhooks", "No endpoints yet"],
] as const

const NEEDS = [
  ["/metadata-fields", "read:metadata_fields"],
  ["/connectors", "read:organizations"],
  ["/webhooks", "read:webhooks"],
] as const

describeConsole("the console: metadata fields", (it) => {
  it.effect(
    "shows a metadata field and the page of a phone without a violation, in both themes",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const body = { key: "walked", label: "Walked", resourceType: "DEPLOYMENT_ZONE", jsonSchema: RACKS }
        const { id } = (yield* call("POST", "/metadata-fields", body)).body
        const tab = yield* browser.newTab(WIDE)
        yield* Effect.promise(async () => {
          await signIn(tab.page, core, furnished.token)
          await checkScreens(tab, core, [["metadata-field", `/metadata-fields/${id}`]])
          await tab.page.setViewportSize({ width: 320, height: 700 })
          await open(tab.page, core, `/metadata-fields/${id}`)
          assert.isAtMost(Number(await tab.page.evaluate("document.documentElement.scrollWidth")), 320)
          assert.deepStrictEqual(await violationsIn(tab.page), [])
        })
        assertClean(tab, core, "metadata field")
        yield* call("POST", `/metadata-fields/${id}/archive`)
      }),
    120_000,
  )

  it.effect("says what empty lists are for, shows errors, and tries again", () =>
    Effect.gen(function* () {
      const { browser, core, empty } = yield* World
      const { page } = yield* browser.newTab()
      yield* Effect.promise(async () => {
        await signIn(page, core, empty.token)
        for (const [path, title] of WITHOUT_ANYTHING) {
          await open(page, core, path)
          await page.getByText(title).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [], path)
        }
        for (const path of ["/metadata-fields", "/connectors", `/connectors/${SALESFORCE}`]) {
          const fails = (url: URL) => url.pathname.startsWith(`/api/${path.split("/")[1]}`)
          await page.route(fails, (route) => route.fulfill(responseOf(failed)))
          await open(page, core, path)
          await page.getByText(failed.code).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [], path)
          await page.unroute(fails)
          await page.getByRole("button", { name: "Try again" }).click()
          await page.getByText(failed.code).waitFor({ state: "detached" })
        }
      })
    }),
  )

  it.effect("follows the scopes: reading without writing, and neither", () =>
    Effect.gen(function* () {
      const { browser, core, tokenWith } = yield* World
      const none = yield* tokenWith(["read:customers"])
      const reading = yield* tokenWith([
        "read:metadata_fields",
        "read:organizations",
        "read:webhooks",
        "read:instances",
      ])
      const { page } = yield* browser.newTab(WIDE)
      const other = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, none)
        for (const [path, scope] of NEEDS) {
          await open(page, core, path)
          await page.getByText(`This page needs the scope ${scope}`).waitFor()
        }
        await signIn(other.page, core, reading)
        await open(other.page, core, "/metadata-fields")
        await other.page.getByText("Read-only:").waitFor()
        assert.strictEqual(await other.page.getByRole("button", { name: "New field" }).count(), 0)
        await other.page.getByRole("link", { name: "Region" }).first().click()
        await other.page.getByText("Checking values needs the scope write:metadata_fields.").waitFor()
        assert.isFalse(await other.page.getByRole("textbox", { name: "Schema" }).isEditable())
        await open(other.page, core, `/connectors/${SALESFORCE}`)
        const shown = await other.page.getByRole("region", { name: "Settings" }).innerText()
        assert.deepInclude(JSON.parse(shown), { clientId: "keyshelf", privateKey: "***" })
        for (const name of ["Deactivate", "Save the settings", "Test the connection"])
          assert.strictEqual(await other.page.getByRole("button", { name }).count(), 0, name)
        await open(other.page, core, "/instances/acme-logistics-production?tab=metadata")
        await other.page.getByText("Region").waitFor()
        assert.strictEqual(await other.page.getByRole("button", { name: "Edit metadata" }).count(), 0)
        await open(other.page, core, "/webhooks?tab=history")
        assert.strictEqual(await other.page.getByRole("button", { name: "Recover since" }).count(), 0)
      })
      assertClean(other, core, "reading")
    }),
  )

  it.effect(
    "creates a metadata field, tries values, sets one on an instance, and archives the field",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(WIDE)
        const dialog = page.getByRole("dialog")
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/metadata-fields")
          await page.getByRole("button", { name: "New field" }).click()
          await dialog.getByRole("textbox", { name: "Label" }).fill("Hardware")
          await dialog.getByRole("textbox", { name: "Key" }).fill("hardware")
          const schema = dialog.getByRole("textbox", { name: "Schema" })
          await schema.fill('{"type": "colour"}')
          await dialog.getByRole("button", { name: "Create" }).click()
          await dialog.locator(".field-error").waitFor()
          assert.match(await errorOf(schema), /type/)
          await schema.fill(JSON.stringify(RACKS))
          assert.deepStrictEqual(await violationsIn(page), [])
          await dialog.getByRole("button", { name: "Create" }).click()
          await page.getByRole("heading", { level: 1, name: "Hardware" }).waitFor()
          // Values are tried while typing.
          const racks = page.getByRole("textbox", { name: "Racks" })
          await racks.fill("0")
          await page.getByText("The value does not match: 1 error").waitFor()
          assert.include(await errorOf(racks), "1")
          assert.deepStrictEqual(await violationsIn(page), [])
          await racks.fill("123456789012345678")
          await page.getByText("The value matches the schema").waitFor()
          await page.getByRole("textbox", { name: "Free" }).fill("{")
          await page.getByText("Part of the value is not valid JSON.").waitFor()
          await page.getByRole("textbox", { name: "Free" }).fill("1.5")
          await page.getByText("The value matches the schema").waitFor()
          const typed = await page.getByRole("region", { name: "The value as JSON" }).innerText()
          assert.strictEqual(typed, '{"racks":123456789012345678,"free":1.5}')
        })
        yield* Effect.promise(async () => {
          await open(page, core, `/instances/${INSTANCE}?tab=metadata`)
          await page.getByRole("button", { name: "Edit metadata" }).click()
          const racks = dialog.getByRole("textbox", { name: "Racks" })
          await racks.fill("none")
          await dialog.getByRole("button", { name: "Add: Hosts" }).click()
          await dialog.getByRole("textbox", { name: "Hosts 1" }).fill("EU")
          await select(page, /Tier$/, "gold")
          await dialog.getByRole("button", { name: "Save" }).click()
          await dialog.locator(".field-error").first().waitFor()
          assert.include(await errorOf(racks), "integer")
          assert.include(await errorOf(dialog.getByRole("textbox", { name: "Hosts 1" })), "must match")
          assert.strictEqual(await dialog.locator(".failure").count(), 0)
          assert.deepStrictEqual(await violationsIn(page), [])
          await racks.fill("3")
          await dialog.getByRole("textbox", { name: "Hosts 1" }).fill("eu")
          await dialog.getByRole("button", { name: "Save" }).click()
          await dialog.waitFor({ state: "detached" })
          await page.getByText('"racks":3').waitFor()
        })
        const stored = { hardware: { racks: 3, tier: "gold", hosts: ["eu"] } }
        assert.deepStrictEqual((yield* call("GET", `/instances/${INSTANCE}`)).body.metadata, stored)
        yield* Effect.promise(async () => {
          await open(page, core, "/metadata-fields")
          await page.getByRole("link", { name: "Hardware" }).click()
          const schema = page.getByRole("textbox", { name: "Schema" })
          await schema.fill('{"type": "number"}')
          await page.getByText("Save the schema to check values against it.").waitFor()
          await page.getByRole("button", { name: "Save the schema" }).click()
          await dialog.getByText("Records whose value becomes invalid: 1").waitFor()
          await dialog.getByText(INSTANCE).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          await dialog.getByRole("button", { name: "Cancel" }).click()
          await page.getByRole("button", { name: "Undo" }).click()
          await page.getByRole("button", { name: "Archive" }).click()
          await dialog.getByText(INSTANCE).waitFor()
          await dialog.getByRole("button", { name: "Archive" }).click()
          await page.getByText("Archived", { exact: true }).waitFor()
          await open(page, core, `/instances/${INSTANCE}?tab=metadata`)
          await page.getByText("Hardware (archived)").waitFor()
          await page.getByRole("button", { name: "Edit metadata" }).click()
          await dialog.getByText(/^Keep hardware/).click()
          await dialog.getByRole("button", { name: "Save" }).click()
          await page.getByText("No value is set.").waitFor()
          await open(page, core, "/metadata-fields")
          await page.getByRole("link", { name: "Hardware" }).click()
          await page.getByRole("button", { name: "Restore" }).click()
          await page.getByRole("button", { name: "Archive" }).waitFor()
        })
        assert.deepStrictEqual((yield* call("GET", `/instances/${INSTANCE}`)).body.metadata, {})
      }),
    120_000,
  )
})
