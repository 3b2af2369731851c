/** The screens that tests open by name, their dialogs, and the menu of narrow windows. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import type { Page } from "playwright-core"
import type { Tab } from "../../support/Browser.ts"
import { violationsIn } from "../Accessibility.ts"
import { open, SALESFORCE, settled, signIn, World } from "../World.ts"
import type { Suite } from "./Suite.ts"

/** The records that tests look at, by a name of each. The matrix finds the other screens by itself. */
export const coreScreens = [
  ["overview", "/overview"],
  ["customers", "/customers"],
  ["customer", "/customers/acme-logistics"],
  ["customer-activity", "/customers/acme-logistics?tab=activity"],
  ["instances", "/instances"],
  ["instance", "/instances/acme-logistics-production"],
  ["instance-overrides", "/instances/acme-logistics-production?tab=overrides"],
  ["instance-seats", "/instances/acme-logistics-production?tab=seats"],
  ["instance-keys", "/instances/acme-logistics-production?tab=keys"],
  ["instance-offline", "/instances/acme-logistics-production?tab=offline"],
  ["instance-metadata", "/instances/acme-logistics-production?tab=metadata"],
  ["licenses", "/licenses"],
  ["license", "/licenses/enterprise-2"],
  ["license-versions", "/licenses/enterprise-2?tab=versions"],
  ["license-families", "/licenses?tab=families"],
  ["license-migrations", "/license-migrations"],
  ["entitlements", "/entitlements"],
  ["entitlement", "/entitlements/api-calls"],
  ["entitlement-groups", "/entitlement-groups"],
  ["entitlement-group", "/entitlement-groups/platform"],
  ["entitlement-group-usage", "/entitlement-groups/platform?tab=usage&instance=acme-logistics-production"],
  ["zones", "/zones"],
  ["zone", "/zones/frankfurt"],
  ["zone-metadata", "/zones/frankfurt?tab=metadata"],
  ["customer-integrations", "/customers/acme-logistics?tab=integrations"],
  ["metadata-fields", "/metadata-fields"],
  ["connectors", "/connectors"],
  ["connector", `/connectors/${SALESFORCE}`],
  ["releases", "/releases"],
  ["release", "/releases/2026-2"],
  ["components", "/components"],
  ["component", "/components/gateway-2026-2-0"],
  ["flags", "/flags"],
  ["flag", "/flags/new-dashboard"],
  ["flag-try-out", "/flags/new-dashboard?tab=try"],
  ["events", "/events"],
  ["webhooks", "/webhooks"],
  ["webhook-history", "/webhooks?tab=history"],
  ["service-accounts", "/service-accounts"],
  ["service-account", "/service-accounts/build-pipeline"],
  ["members", "/members"],
  ["settings", "/settings"],
] as const

const pictures = join(import.meta.dirname, "../../../coverage/console")

const picture = (page: Page, name: string) => page.screenshot({ path: join(pictures, `${name}.png`) })

/** Checks that a tab loaded everything from one origin, without an error or a violation of the policy. */
export const assertClean = ({ errors, origins }: Tab, origin: string, where: string): void => {
  assert.deepStrictEqual([...origins], [origin], where)
  assert.deepStrictEqual([...errors], [], where)
}

/** Opens screens that the matrix does not find, in both themes, and checks that nothing is wrong there. */
export const checkScreens = async (tab: Tab, origin: string, screens: ReadonlyArray<readonly [string, string]>) => {
  mkdirSync(pictures, { recursive: true })
  for (const [name, path] of screens) {
    await tab.page.emulateMedia({ colorScheme: "light" })
    await open(tab.page, origin, path)
    assert.deepStrictEqual(await violationsIn(tab.page), [], name)
    await picture(tab.page, `${name}-light`)
    await tab.page.emulateMedia({ colorScheme: "dark" })
    assert.deepStrictEqual(await violationsIn(tab.page, ["color-contrast"]), [], `${name}, dark`)
    await picture(tab.page, `${name}-dark`)
    assertClean(tab, origin, name)
  }
}

export const suite: Suite = (it) => {
  it.effect("has its menu behind a button on a phone", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const tab = yield* browser.newTab({ viewport: { width: 320, height: 700 } })
      yield* Effect.promise(async () => {
        await signIn(tab.page, core, furnished.token)
        await tab.page.getByRole("button", { name: "Menu" }).click()
        assert.deepStrictEqual(await violationsIn(tab.page), [])
        await tab.page.getByRole("link", { name: "Customers" }).click()
        await settled(tab.page)
        assert.isFalse(await tab.page.getByRole("navigation").isVisible())
        assert.deepStrictEqual(await violationsIn(tab.page), [])
      })
      assertClean(tab, core, "320 pixels")
    }),
  )

  it.effect(
    "opens dialogs without a violation, and gives the focus back",
    () =>
      Effect.gen(function* () {
        const { browser, core, furnished } = yield* World
        const tab = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
        const { page } = tab
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/instances/acme-logistics-production")
          for (const name of ["Check", "Issue bundle", "Edit"]) {
            const button = page.getByRole("button", { name, exact: true })
            await button.click()
            await page.getByRole("dialog").waitFor()
            assert.deepStrictEqual(await violationsIn(page), [], name)
            await picture(page, `dialog-${name.toLowerCase().replace(" ", "-")}`)
            await page.keyboard.press("Escape")
            await page.getByRole("dialog").waitFor({ state: "detached" })
            assert.strictEqual(await page.evaluate("document.activeElement.textContent"), name)
          }
        })
        assertClean(tab, core, "dialogs")
      }),
    60_000,
  )

  it.effect("keeps some forty rows in the page while scrolling through all", () =>
    Effect.gen(function* () {
      const { browser, core, furnished } = yield* World
      const { page } = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/instances")
        assert.match(await page.locator(".count").innerText(), /^200 rows/)
        await page.evaluate("scrollTo(0, document.body.scrollHeight)")
        await page.locator('[role="row"][aria-rowindex="201"]').waitFor()
        assert.isAtMost(await page.locator('[role="row"]').count(), 60)
      })
    }),
  )
}
