/** The screens that tests open by name, and what they check there. */
import { assert } from "@effect/vitest"
import { join } from "node:path"
import type { Page } from "playwright-core"
import type { Tab } from "../support/Browser.ts"
import { violationsIn } from "./Accessibility.ts"
import { open, SALESFORCE } from "./World.ts"

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
  ["instance-tranches", "/instances/acme-logistics-production?tab=tranches"],
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

const pictures = join(import.meta.dirname, "../../coverage/console")

// For people. To take and to store them costs a third of the time of some screens.
const wantsPictures = process.env["TEST_PICTURES"] !== undefined

/** With `TEST_PICTURES=1`, keeps a picture of what a page shows in `coverage/console`. */
export const picture = async (page: Page, name: string): Promise<void> => {
  if (wantsPictures) await page.screenshot({ path: join(pictures, `${name}.png`) })
}

/** Everything that a script of the page could read of a secret. */
export const traces = (page: Page): Promise<string> =>
  page.evaluate(
    "location.href + JSON.stringify({ ...localStorage }) + JSON.stringify({ ...sessionStorage }) + document.cookie + document.documentElement.outerHTML",
  )

/** Checks that a tab loaded everything from one origin, without an error or a violation of the policy. */
export const assertClean = ({ errors, origins }: Tab, origin: string, where: string): void => {
  assert.deepStrictEqual([...origins], [origin], where)
  assert.deepStrictEqual([...errors], [], where)
}

/** Opens screens that the matrix does not find, in both themes, and checks that nothing is wrong there. */
export const checkScreens = async (tab: Tab, origin: string, screens: ReadonlyArray<readonly [string, string]>) => {
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

/** Checks what is on the screen in both themes. */
export const checkBoth = async (page: Page, what: string): Promise<void> => {
  await page.emulateMedia({ colorScheme: "light" })
  assert.deepStrictEqual(await violationsIn(page), [], what)
  await page.emulateMedia({ colorScheme: "dark" })
  assert.deepStrictEqual(await violationsIn(page, ["color-contrast"]), [], `${what}, dark`)
}
