/** Receivers of webhooks: what an administrator changes on them, and one that fails. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { localServer } from "../../support/LocalServer.ts"
import { until } from "../../support/until.ts"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { button, closed, dialogOf, press, textbox, WIDE } from "../records/Dialogs.ts"
import { open, signIn, World } from "../World.ts"

describeConsole("the console: receivers", (it) => {
  it.effect("an endpoint and its events are changed in a form", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      const { page } = yield* browser.newTab(WIDE)
      const check = (name: string) => dialogOf(page).getByRole("checkbox", { name, exact: true })
      const tick = (name: string) => dialogOf(page).getByText(name, { exact: true }).click()
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/webhooks")
        await button(page, "New endpoint").click()
        await textbox(page, "URL").fill("https://billing.example/hooks")
        await tick("All events, also those of later versions")
        await page.getByRole("searchbox", { name: "Find an event" }).fill("customer")
        await tick("All: Customer")
        await tick("Customer deleted")
        assert.isTrue(await check("Customer created").isChecked())
        assert.isFalse(await check("Customer deleted").isChecked())
        assert.deepStrictEqual(await violationsIn(page), [])
        await press(page, "Create")
        await page.getByText("I have saved it").click()
        await press(page, "Done")
        await page.getByRole("button", { name: "Actions: https://billing.example/hooks" }).click()
        await page.getByRole("menuitem", { name: "Edit" }).click()
        await textbox(page, "URL").fill("https://billing.example/events")
        await page.getByRole("searchbox", { name: "Find an event" }).fill("release_deployed")
        await tick("Release deployed")
        await press(page, "Save")
        await closed(page)
        await page.getByText("https://billing.example/events").waitFor()
      })
      const endpoints: ReadonlyArray<{ readonly id: string; readonly url: string }> = (yield* call("GET", "/webhooks"))
        .body.items
      const changed = endpoints.find(({ url }) => url === "https://billing.example/events")
      const { eventNames } = (yield* call("GET", `/webhooks/${changed?.id}`)).body
      assert.includeMembers(eventNames, ["CUSTOMER_CREATION", "RELEASE_DEPLOYED"])
      assert.notInclude(eventNames, "CUSTOMER_DELETED")
      yield* call("DELETE", `/webhooks/${changed?.id}`)
    }),
  )

  it.effect("an endpoint is paused and resumed, and its page has each delivery with all its attempts", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      let status = 503
      const { asked, url } = yield* localServer((_, response) => {
        response.writeHead(status).end(`{"status":${status}}`)
      })
      const { id } = (yield* call("POST", "/webhooks", { url, eventNames: ["CUSTOMER_CREATION"] })).body
      const { page } = yield* browser.newTab(WIDE)
      const waiting = (count: number) =>
        until(
          `${count} deliveries wait`,
          Effect.map(call("GET", `/webhooks/${id}?include=health`), ({ body }) => body.health.waiting.count === count),
        )
      const act = async (action: string) => {
        await page.getByRole("button", { name: `Actions: ${url}` }).click()
        await page.getByRole("menuitem", { name: action }).click()
      }
      yield* call("POST", "/customers", { name: "First", slug: "first-of-two" })
      yield* until(
        "the first attempt failed",
        Effect.sync(() => asked.length > 0),
      )
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/webhooks")
        await act("Pause")
        await page.getByRole("row", { name: new RegExp(`${url}.*Paused`) }).waitFor()
      })
      yield* call("POST", "/customers", { name: "Second", slug: "second-of-two" })
      yield* waiting(2)
      status = 200
      yield* Effect.promise(async () => {
        await act("Resume")
        await page.getByRole("row", { name: new RegExp(`${url}.*Enabled`) }).waitFor()
      })
      yield* waiting(0)
      yield* Effect.promise(async () => {
        await page.getByRole("link", { name: url }).click()
        await page.getByRole("heading", { name: url }).waitFor()
        const deliveries = page.getByRole("table", { name: "Deliveries" })
        await deliveries
          .getByRole("row", { name: /Customer created.*Delivered.*200/ })
          .nth(1)
          .waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await button(deliveries.getByRole("row", { name: /Delivered 200 2 / }), "Customer created").click()
        const dialog = dialogOf(page)
        await dialog.getByRole("region", { name: "Headers" }).getByText("webhook-id").waitFor()
        await dialog.getByRole("region", { name: "Response" }).getByText('"status": 200').waitFor()
        await button(dialog, /^1: /).click()
        await dialog.getByRole("region", { name: "Response" }).getByText('"status": 503').waitFor()
        await dialog.getByRole("region", { name: "Request" }).getByText("first-of-two").waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await page.keyboard.press("Escape")
        await page.getByRole("tab", { name: "Activity" }).click()
        await page.getByRole("row", { name: /Webhook endpoint paused/ }).waitFor()
        await button(page, "More actions").click()
        await page.getByRole("menuitem", { name: "Delete" }).click()
        await press(page, "Delete")
        await page.getByRole("tab", { name: "Endpoints" }).waitFor()
      })
      assert.strictEqual((yield* call("GET", `/webhooks/${id}`)).status, 404)
      for (const slug of ["first-of-two", "second-of-two"]) yield* call("DELETE", `/customers/${slug}`)
    }),
  )

  it.effect("a receiver that fails is seen on the overview and among the endpoints", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      const { url } = yield* localServer((_, response) => {
        response.writeHead(503).end()
      })
      const { id } = (yield* call("POST", "/webhooks", { url, eventNames: ["CUSTOMER_CREATION"] })).body
      yield* call("POST", "/customers", { name: "Waits", slug: "waits" })
      yield* until(
        "the endpoint fails",
        Effect.map(call("GET", `/webhooks/${id}`), ({ body }) => body.failingSince !== null),
      )
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, "/overview")
        const { host } = new URL(url)
        await page.locator("p", { hasText: new RegExp(`^${host} fails since .*, 1 event waits$`) }).waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        await page.getByRole("link", { name: host, exact: true }).click()
        await page
          .getByRole("table")
          .getByText(/^Failed, next try \d/)
          .first()
          .waitFor()
        await open(page, core, "/webhooks")
        const row = page.getByRole("row", { name: new RegExp(`${host}.*Failing.*since.*None in the history.*1`) })
        await row.waitFor()
        assert.deepStrictEqual(await violationsIn(page), [])
        // Of several endpoints, recovering begins with the one that fails.
        await open(page, core, "/webhooks?tab=history")
        await button(page, "Recover since").click()
        await dialogOf(page)
          .getByRole("button", { name: new RegExp(host) })
          .waitFor()
      })
      yield* call("DELETE", `/webhooks/${id}`)
    }),
  )
})
