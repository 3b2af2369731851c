/** The tranches of an instance: who holds units, and ending what a lost product holds. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { violationsIn } from "../Accessibility.ts"
import { describeConsole } from "../Console.ts"
import { open, signIn, World } from "../World.ts"
import { button, closed, dialogOf, press, WIDE } from "./Dialogs.ts"

const INSTANCE = "acme-logistics-production"
const LOST = "0198c2b5-0000-7000-8000-0000000000a1"
const RUNNING = "0198c2b5-0000-7000-8000-0000000000a2"

const ledgerOf = (id: string) => `urn:keyshelf:ledger:${id}`

/** Two holders of units: one whose time to spend is over, and one that can spend. */
const hold = Effect.gen(function* () {
  const { call, furnished, sql } = yield* World
  yield* call("POST", "/entitlements", { name: "Renders", slug: "renders", type: "NUMBER" })
  yield* call("PUT", `/instances/${INSTANCE}/entitlements/renders/override`, { mode: "SET", value: 100 })
  for (const [id, need] of [
    [LOST, "30"],
    [RUNNING, "20"],
  ] as const) {
    const body = { source: ledgerOf(id), lines: [], tranches: [{ entitlement: "renders", need, want: need }] }
    const { status, text } = yield* call("POST", `/instances/${INSTANCE}/tranches`, body)
    assert.strictEqual(status, 200, text)
  }
  yield* sql(
    "UPDATE usage_reservations SET spend_until = spend_until - interval '2 hours' WHERE organization_id = $1 AND ledger = $2",
    [furnished.organizationId, ledgerOf(LOST)],
  )
})

describeConsole("the console: tranches of an instance", (it) => {
  it.effect("show who holds what, and only those of a holder that can spend no more are ended", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* hold
      const { page } = yield* browser.newTab(WIDE)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, `/instances/${INSTANCE}?tab=tranches`)
        const table = page.getByRole("table", { name: "Tranches" })
        const rowOf = (id: string) => table.getByRole("row").filter({ hasText: id })
        await rowOf(RUNNING).getByText("renders").waitFor()
        assert.include(await rowOf(RUNNING).innerText(), "20")
        assert.include(await rowOf(LOST).innerText(), "30")
        assert.deepStrictEqual(await violationsIn(page), [])
        assert.strictEqual(await button(rowOf(RUNNING), "End").count(), 0)
        await button(rowOf(LOST), "End").click()
        await dialogOf(page).getByText(LOST).waitFor()
        await press(page, "End")
        await closed(page)
        await rowOf(LOST).waitFor({ state: "detached" })
        await rowOf(RUNNING).waitFor()
      })
      const { body } = yield* call("GET", `/instances/${INSTANCE}/tranches`)
      assert.deepStrictEqual(
        body.items.map(({ holder, unspent }: Record<string, unknown>) => [holder, unspent]),
        [[ledgerOf(RUNNING), "20"]],
      )
    }),
  )

  it.effect("that another person has ended meanwhile are named by the problem of the service", () =>
    Effect.gen(function* () {
      const { browser, call, core, furnished } = yield* World
      yield* hold
      const { page } = yield* browser.newTab(WIDE)
      const dialog = dialogOf(page)
      yield* Effect.promise(async () => {
        await signIn(page, core, furnished.token)
        await open(page, core, `/instances/${INSTANCE}?tab=tranches`)
        await button(page.getByRole("row").filter({ hasText: LOST }), "End").click()
        await dialog.getByText(LOST).waitFor()
      })
      yield* call("DELETE", `/instances/${INSTANCE}/tranches/${encodeURIComponent(ledgerOf(LOST))}`)
      yield* Effect.promise(async () => {
        await press(page, "End")
        await dialog.getByRole("alert").waitFor()
        assert.match(await dialog.getByRole("alert").innerText(), /tranche/i)
      })
    }),
  )
})
