/** Who may have a release: the policy behind its dry run, and what an instance may have and why not. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { describeConsole } from "../Console.ts"
import { checkBoth } from "../Screens.ts"
import { open, signIn, World } from "../World.ts"
import { closed, press, textbox, WIDE } from "./Dialogs.ts"

const INSTANCE = "acme-logistics-production"

describeConsole("the console: who may have a release", (it) => {
  it.effect(
    "changes the access of a release behind its dry run, and explains each release that an instance may not have",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab(WIDE)
        const release = (version: string, more: object = {}) => call("POST", "/releases", { version, ...more })
        yield* call("POST", "/entitlements", { name: "Beta programme", slug: "beta", type: "BOOLEAN" })
        yield* release("9.0", { access: { offered: true, entitlements: ["beta"] } })
        yield* release("9.1")
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/releases/9-1?tab=access")
          await page.getByText("No entitlement", { exact: true }).waitFor()
          await checkBoth(page, "the access of a release")
          await page.getByRole("button", { name: "Change access" }).click()
          await page.getByRole("checkbox", { name: "Customers may know this release" }).check({ force: true })
          await press(page, "Continue")
          const turned = page.getByRole("dialog").getByText(`${INSTANCE}: Not offered -> Granted`)
          await turned.waitFor()
          await checkBoth(page, "the dry run of an access")
          await press(page, "Save")
          await closed(page)
          await page.getByRole("main").getByText("Offered", { exact: true }).first().waitFor()

          await open(page, core, `/instances/${INSTANCE}?tab=releases`)
          const table = page.getByRole("table", { name: "Releases" })
          await table.getByText(`${INSTANCE} may have 9.1.`).waitFor()
          await table.getByText(`9.0 requires beta, which the license of ${INSTANCE} does not grant.`).waitFor()
          await checkBoth(page, "the releases of an instance")
          await page.getByRole("radio", { name: "Not allowed" }).check({ force: true })
          await table.getByText(`${INSTANCE} may have 9.1.`).waitFor({ state: "detached" })
          await table.getByText("Not granted", { exact: true }).waitFor()

          await open(page, core, "/releases/9-1?tab=access")
          await page.getByRole("button", { name: "Withdraw" }).click()
          await textbox(page, "Reason").fill("Loses data on ARM.")
          await press(page, "Continue")
          await page.getByRole("dialog").getByText(`${INSTANCE}: Granted -> Withdrawn`).waitFor()
          await press(page, "Withdraw")
          await closed(page)
          await page.getByText("Loses data on ARM.").waitFor()
          await open(page, core, `/instances/${INSTANCE}?tab=releases`)
          await table.getByText(/^9\.1 was withdrawn on .*: Loses data on ARM\.$/).waitFor()
        })
        const decision = yield* call("GET", `/instances/${INSTANCE}/releases/9-1`)
        assert.deepStrictEqual([decision.body.allowed, decision.body.reason], [false, "WITHDRAWN"])
      }),
  )

  it.effect("stores the images of a component, and shows what is wrong with one at its field", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/components/gateway-2026-2-0?tab=images")
        await page.getByText("No images").waitFor()
        await page.getByRole("button", { name: "Edit images" }).click()
        await page.getByRole("button", { name: "Add an image" }).click()
        await textbox(page, "Repository").fill("Acme/Gateway")
        await textbox(page, "Tag or digest").fill("2026.2.0")
        await press(page, "Save")
        await page.locator(".field-error").first().waitFor()
        await checkBoth(page, "an image with an error")
        await textbox(page, "Repository").fill("acme/gateway")
        await press(page, "Save")
        await closed(page)
        await page.getByRole("table", { name: "Images" }).getByText("acme/gateway").waitFor()
      })
      const { images } = (yield* call("GET", "/components/gateway-2026-2-0")).body
      assert.deepStrictEqual(images, [{ repository: "acme/gateway", reference: "2026.2.0" }])
    }),
  )
})
