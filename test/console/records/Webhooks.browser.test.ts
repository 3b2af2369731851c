/** The history and the recovery of deliveries. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { localServer } from "../../support/LocalServer.ts"
import { until } from "../../support/until.ts"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { open, signIn, World } from "../World.ts"
import { select, WIDE } from "./Dialogs.ts"

describeConsole("the console: webhooks", (it) => {
  it.effect(
    "recovers the deliveries since a moment, and shows request, response and time of each",
    () =>
      Effect.gen(function* () {
        const { browser, call, core, furnished } = yield* World
        let status = 503
        const { asked, url } = yield* localServer((_, response) => {
          response.writeHead(status).end(status === 503 ? "down for a moment" : "thanks")
        })
        const endpoint = { url, eventNames: ["CUSTOMER_CREATION"], description: "Billing" }
        const { id } = (yield* call("POST", "/webhooks", endpoint)).body
        yield* call("POST", "/customers", { name: "Recovered", slug: "recovered" })
        const { page } = yield* browser.newTab(WIDE)
        const dialog = page.getByRole("dialog")
        const rows = page.getByRole("table", { name: "History" })
        const ended = Effect.fnUntraced(function* (state: string, count: number) {
          const path = `/webhooks/history?endpoint=${id}&state=${state}`
          yield* until(
            `${count} attempts are ${state}`,
            Effect.map(call("GET", path), ({ body }) => body.items.length >= count),
          )
        })
        // The service repeats a delivery after 5 seconds, and then not for 5 minutes.
        yield* ended("Failure", 2)
        yield* Effect.promise(async () => {
          await signIn(page, core, furnished.token)
          await open(page, core, "/webhooks?tab=history")
          await select(page, /Endpoint$/, url, page.locator(".filters"))
          await page.getByRole("searchbox", { name: "Event, by name or id" }).fill("nonsense")
          await page.getByText("No event has this name or id.").waitFor()
          await page.getByRole("searchbox", { name: "Event, by name or id" }).fill("release deployed")
          await page.getByText("Nothing matches the filter").waitFor()
          await page.getByRole("searchbox", { name: "Event, by name or id" }).fill("customer created")
          await page.getByText("2 attempts").waitFor()
          assert.strictEqual(await rows.getByText(/^Failed, next try \d/).count(), 1)
          assert.strictEqual(await rows.getByText("Failed", { exact: true }).count(), 1)
          await rows.getByRole("button", { name: "Customer created" }).first().click()
          await dialog.getByRole("region", { name: "Response" }).getByText("down for a moment").waitFor()
          await dialog.getByRole("region", { name: "Request" }).getByText("recovered").waitFor()
          await dialog.getByText("Duration", { exact: true }).waitFor()
          assert.deepStrictEqual(await violationsIn(page), [])
          await page.keyboard.press("Escape")
          status = 200
          await page.getByRole("button", { name: "Recover since" }).click()
          assert.deepStrictEqual(await violationsIn(page), [])
          const since = dialog.getByLabel(/^Since/)
          await since.fill("")
          await dialog.getByRole("button", { name: "Send again" }).click()
          await dialog.locator(".field-error").waitFor()
          await since.fill(new Date(Date.now() - 600_000).toISOString().slice(0, 16))
          // The dialog shows the number before anything is sent.
          await dialog.getByRole("status").getByText("1 delivery will be sent again.").waitFor()
          await dialog.getByRole("button", { name: "Send again" }).click()
          await page.locator(".read-only", { hasText: "1 delivery is sent again." }).waitFor()
        })
        yield* ended("Success", 1)
        assert.strictEqual(asked[0]?.headers["webhook-id"], asked[2]?.headers["webhook-id"])
        yield* Effect.promise(async () => {
          await open(page, core, `/webhooks?tab=history&endpoint=${id}&state=Success`)
          await page.getByText("1 attempt").waitFor()
          // Also what arrived can be sent again.
          await rows.getByRole("button", { name: "Customer created" }).click()
          await dialog.getByRole("button", { name: "Retry" }).click()
        })
        yield* until(
          "all four were received",
          Effect.sync(() => asked.length >= 4),
        )
        yield* call("DELETE", `/webhooks/${id}`)
        yield* call("DELETE", "/customers/recovered")
      }),
    120_000,
  )
})
