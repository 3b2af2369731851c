/** The questions of support, each answered in at most three clicks from any page. Ctrl-K and Enter are one. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { describeConsole } from "../Console.ts"
import { settled, signIn, World } from "../World.ts"

const MAX_CLICKS = 3

/** Counts the clicks of a person. */
const counting = (page: Page) => {
  let clicks = 0
  return {
    click: async (target: Locator) => {
      clicks++
      await target.click()
    },
    find: async (text: string, result: RegExp) => {
      clicks++
      await page.keyboard.press("Control+k")
      await page.getByRole("combobox").fill(text)
      await page.getByRole("option", { name: result }).first().waitFor()
      await page.keyboard.press("Enter")
    },
    assertFew: (question: string) => assert.isAtMost(clicks, MAX_CLICKS, question),
  }
}

const INSTANCE = "globex-logistics-production"
const RESULT = /Globex Logistics production/

describeConsole("the console: questions of support", (it) => {
  it.effect(
    "answers the questions of support in three clicks",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        const { page } = yield* browser.newTab({ viewport: { width: 1440, height: 900 } })
        yield* call("PUT", `/instances/${INSTANCE}/entitlements/api-calls/override`, {
          mode: "ADD",
          value: 400,
          reason: "Goodwill after the outage",
        })
        const asked = Effect.fnUntraced(function* (
          question: string,
          answer: (person: ReturnType<typeof counting>) => Promise<void>,
        ) {
          yield* Effect.promise(async () => {
            // What the last question opened is closed.
            await page.keyboard.press("Escape")
            await page.getByRole("link", { name: "Events" }).click()
            await settled(page)
            const person = counting(page)
            await answer(person)
            person.assertFew(question)
          })
        })
        yield* Effect.promise(() => signIn(page, core, furnished.token))
        yield* asked("Why is an instance refused?", async ({ click, find }) => {
          await find(INSTANCE, RESULT)
          await click(page.getByRole("button", { name: /Why can this instance use API calls/ }))
          await page.getByText(/^Allowed: with 1 more/).waitFor()
        })
        yield* asked("How much is left, when does it start again?", async ({ find }) => {
          await find(INSTANCE, RESULT)
          const row = page.getByRole("row", { name: /API calls/ })
          await row.getByText(/UTC/).waitFor()
        })
        yield* asked("Who raised this limit, why?", async ({ click, find }) => {
          await find(INSTANCE, RESULT)
          await click(page.getByRole("tab", { name: "Overrides" }))
          await page.getByText("Goodwill after the outage").waitFor()
        })
        yield* asked("What changed on this instance, by whom?", async ({ click, find }) => {
          await find(INSTANCE, RESULT)
          await click(page.getByRole("tab", { name: "Activity" }))
          await page.getByRole("button", { name: "Instance created" }).waitFor()
        })
        yield* asked("Whose is this id of another system?", async ({ find }) => {
          await find("crm-4706", /crm-4706/)
          await page.waitForURL(/\/customers\/[a-z-]+$/)
        })
        yield* asked("Whose is this Salesforce id?", async ({ find }) => {
          await find("0018c00002XyZ12AAB", /crm.salesforce 0018c00002XyZ12AAB/)
          await page.waitForURL(/\/customers\/acme-logistics$/)
          await page.getByRole("heading", { level: 1, name: "Acme Logistics" }).waitFor()
        })
        yield* asked("Which release runs in a zone, since when?", async ({ find }) => {
          await find("frankfurt", /Frankfurt/)
          await page.getByText("runs now").waitFor()
        })
        yield* asked("Did that receiver get the event?", async ({ click }) => {
          await click(page.getByRole("link", { name: "Webhooks" }))
          await click(page.getByRole("tab", { name: "History" }))
          await page.getByRole("button", { name: "Release deployed" }).first().waitFor()
        })
        const days = (count: number) => new Date(Date.now() + count * 86_400_000).toISOString()
        for (const [name, ends, graceDays] of [
          ["grace-period", -2, 14],
          ["ends-soon", 9, 0],
          ["ended-long-ago", -40, 14],
        ] as const) {
          yield* call("POST", "/instances", {
            name,
            slug: name,
            customerSlug: "from-the-pipeline",
            licenseSlug: "enterprise-2",
            startLicenseDate: days(-300),
            endLicenseDate: days(ends),
            graceDays,
          })
        }
        yield* asked("Whose license ends soon, who is in grace?", async ({ click }) => {
          await click(page.getByRole("link", { name: "Overview" }))
          const row = (table: string, name: string) =>
            page.getByRole("table", { name: table }).getByRole("row", { name: new RegExp(name) })
          await row("In grace", "grace-period").getByText("12 days left").waitFor()
          await row("Ending within 30 days", "ends-soon").getByText("9 days left").waitFor()
          assert.strictEqual(await page.getByRole("table", { name: "In grace" }).getByText("ended-long-ago").count(), 0)
        })
        const deployer = yield* call("POST", "/service-accounts/build-pipeline/tokens", {
          name: "Deployer",
          scopes: ["write:customers"],
        })
        yield* call("POST", "/customers", { name: "Deployed", slug: "deployed" }, deployer.body.token)
        yield* asked("Whose token did this? Stop it", async ({ click }) => {
          const row = page.getByRole("row", { name: /Customer created.*deployed/ })
          await click(row.getByRole("button", { name: "Customer created" }))
          await click(page.getByRole("button", { name: "Revoke Deployer" }))
          await click(page.getByRole("dialog", { name: /Deployer/ }).getByRole("button", { name: "Revoke" }))
          await page.getByRole("dialog").getByText("Revoked", { exact: true }).waitFor()
        })
        const { status } = yield* call("GET", "/me", undefined, deployer.body.token)
        assert.strictEqual(status, 401)
      }),
    120_000,
  )
})
