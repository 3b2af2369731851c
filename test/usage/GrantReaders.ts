/** Every answer and every count that depends on what an instance is granted of a number. All of them must follow the same terms. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { answer } from "../../src/offline/index.ts"
import { payloadOf } from "../offline-bundles/Site.ts"
import { TestService } from "../support/TestService.ts"
import type { openMeteredShop } from "./MeteredShop.ts"

/** From the third time on, an unchanged check has a cached answer. */
export const OFTEN = 3

/** What is granted of a number: the value and the overage; `null` if nothing is. */
export interface Terms {
  readonly value: number
  readonly overagePercent: number
}

interface Granted {
  readonly terms: Terms | null
  /** The source that an explanation names. */
  readonly source: string
  /** An instant later, at which the terms are the same. */
  readonly later: string
}

type Shop = Effect.Success<typeof openMeteredShop>

/** Asserts that everything of the entitlement `calls` of `prod` follows these terms: what is answered, and what may be used. */
export const assertGranted = Effect.fnUntraced(function* (
  { call, report, tenant }: Shop,
  { later: at, source, terms }: Granted,
) {
  const { core } = yield* TestService
  const ask = (more: object = {}, requested?: number) =>
    Effect.map(
      call("POST", "/instances/prod/check", {
        checks: [{ entitlement: "calls", ...(requested === undefined ? {} : { requested }) }],
        ...more,
      }),
      ({ body }) => body.checks[0],
    )
  const expectedLimit = terms?.value ?? null
  for (let times = 0; times < OFTEN; times++) assert.strictEqual((yield* ask()).limit, expectedLimit)
  assert.strictEqual((yield* ask({ at })).limit, expectedLimit)
  const { explanation } = yield* ask({ explain: true })
  assert.deepStrictEqual(
    explanation.grant && [explanation.grant.source, explanation.grant.value, explanation.grant.overagePercent],
    terms && [source, terms.value, terms.overagePercent],
  )
  const usage = yield* call("GET", "/instances/prod/entitlements/calls/usage")
  const shown = terms === null ? 0 : terms.value
  assert.strictEqual(usage.body.licenseValue.value, shown)
  const listed = yield* call("GET", "/instances/prod/entitlements/usage")
  assert.deepStrictEqual(
    listed.body.items.map(({ licenseValue }: { licenseValue: { value: number } }) => licenseValue.value),
    terms === null ? [] : [shown],
  )
  const flag = yield* call("POST", "/ofrep/v1/evaluate/flags/entitlement.calls", { context: { targetingKey: "prod" } })
  assert.strictEqual(flag.body.value, shown)
  // The second one has a cached catalog, unless the instance has add-ons.
  for (let times = 0; times < 2; times++) {
    const { text } = yield* core("GET", "/instances/prod/snapshot", { token: tenant.token })
    const [decided] = answer(payloadOf(text), [{ entitlement: "calls" }], at).checks
    assert.strictEqual(decided?.limit, terms === null ? null : String(terms.value))
  }

  // The most that may be used, and one more.
  const cap = terms === null ? 0 : Math.floor((terms.value * (100 + terms.overagePercent)) / 100)
  const isUnlimited = terms?.value === -1
  const tooMuch = isUnlimited ? 1 : cap + 1
  const event = (id: string, value: number) =>
    core("POST", "/usage-events", {
      token: tenant.token,
      headers: { "content-type": "application/cloudevents-batch+json" },
      body: [{ specversion: "1.0", id, source: "/t", type: "calls", subject: "prod", data: { value } }],
    })
  const isRejected = (body: object) => Effect.map(report("calls", body), ({ status }) => status >= 400)
  const reserve = (quantity: number) => call("POST", "/instances/prod/entitlements/calls/reservations", { quantity })
  if (!isUnlimited) {
    assert.strictEqual((yield* ask({ consume: true }, tooMuch)).allowed, false)
    assert.isTrue(yield* isRejected({ value: tooMuch }))
    assert.isTrue(yield* isRejected({ value: tooMuch, transactionId: "t" }))
    assert.strictEqual((yield* event("1", tooMuch)).body.results[0].status, "rejected")
    assert.strictEqual((yield* reserve(tooMuch)).status, 409)
  }
  if (terms === null) return
  const room = isUnlimited ? 1_000 : cap
  if (room >= 4) {
    const held = yield* reserve(1)
    assert.strictEqual(held.status, 201, held.text)
    assert.strictEqual((yield* ask({ consume: true }, 1)).allowed, true)
    assert.strictEqual((yield* event("2", 1)).body.results[0].status, "accepted")
    assert.isFalse(yield* isRejected({ value: room - 3 }))
    const commit = yield* call("POST", `/reservations/${held.body.id}/commit`)
    assert.strictEqual(commit.status, 200, commit.text)
  } else {
    assert.isFalse(yield* isRejected({ value: room }))
  }
  if (!isUnlimited) assert.isTrue(yield* isRejected({ value: 1 }))
})
