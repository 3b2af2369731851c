import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { request } from "../support/http.ts"
import { installation } from "../support/Nodes.ts"
import { TestDatabase, testSql } from "../support/TestDatabase.ts"
import { randomIntegers } from "./RandomGenerator.ts"

/** Two processes of the service on one database, and an instance with a limit of 500 calls an hour. */
const openTwoNodes = Effect.gen(function* () {
  const { url } = yield* TestDatabase
  const { node, tenant } = installation(url)
  const own = node({ SERVICE_ROLES: "core,platform,internal" })
  const [one, two] = yield* Effect.all([own, own], { concurrency: 2 })
  const token = yield* tenant(one)
  const setUp = async () => {
    const make = async (path: string, body: object) => {
      const answer = await request("POST", `${one.core}/api${path}`, { token, body })
      if (answer.status !== 201) throw new Error(answer.text)
    }
    await make("/entitlements", { name: "Calls", slug: "calls", type: "NUMBER" })
    await make("/licenses", { name: "Pro", slug: "pro", type: "PAID" })
    await make("/licenses/pro/entitlements", { entitlementSlug: "calls", value: 500 })
    await make("/customers", { name: "Acme", slug: "acme" })
    const dates = { startLicenseDate: "2025-01-01T00:00:00Z", endLicenseDate: "2099-01-01T00:00:00Z" }
    await make("/instances", { name: "Prod", slug: "prod", customerSlug: "acme", licenseSlug: "pro", ...dates })
  }
  yield* Effect.promise(setUp)
  /** Calls one node, then the other. */
  const call = (turn: number, method: string, path: string, body?: object) => {
    const { core } = turn % 2 === 0 ? one : two
    return request(method, `${core}/api${path}`, { token, ...(body === undefined ? {} : { body }) })
  }
  return { call }
})

const CLIENTS = 24

describe("two nodes on one database", { timeout: 120_000 }, () => {
  it.live("allow exactly 500 of 1,000 parallel consumes on a limit of 500, without a failure", () =>
    Effect.gen(function* () {
      const { call } = yield* openTwoNodes
      const answers = yield* Effect.promise(() =>
        Promise.all(
          Array.from({ length: 1000 }, (_, turn) =>
            call(turn, "POST", "/instances/prod/check", { checks: [{ entitlement: "calls" }], consume: true }),
          ),
        ),
      )
      assert.deepStrictEqual([...new Set(answers.map(({ status }) => status))], [200])
      assert.strictEqual(answers.filter(({ body }) => body.checks[0].allowed === true).length, 500)
      const { body } = yield* Effect.promise(() => call(0, "GET", "/instances/prod/entitlements/calls/usage"))
      assert.strictEqual(body.usageValue.value, 500)
    }).pipe(Effect.provide(Layer.fresh(testSql))),
  )

  it.live("never exceed a cap with mixed consumes, reports and reservations, and neither lose nor fail any", () =>
    Effect.gen(function* () {
      const { call } = yield* openTwoNodes
      let used = 0
      let rejections = 0
      const unexpected: Array<string> = []
      const over: Array<string> = []
      let committed = 0
      const client = async (number: number) => {
        const random = randomIntegers(number + 1)
        const held: Array<{ id: string; quantity: number }> = []
        for (let turn = 0; turn < 40; turn++) {
          const quantity = 1 + random(12)
          const node = random(2)
          const what = random(6)
          const mine = held.at(-1)
          if (what === 0) {
            const body = { checks: [{ entitlement: "calls", requested: quantity }], consume: true }
            const { body: answer, status, text } = await call(node, "POST", "/instances/prod/check", body)
            if (status !== 200) unexpected.push(text)
            else if (answer.checks[0].allowed === true) used += quantity
            else rejections += 1
            if (status === 200 && answer.checks[0].usage > 500) over.push(text)
          } else if (what === 1) {
            const path = "/instances/prod/entitlements/calls/usage"
            const { body, status, text } = await call(node, "POST", path, { value: quantity })
            if (status === 200) used += quantity
            else if (body.code === "ReportUsage.ThresholdExceeded") rejections += 1
            else unexpected.push(text)
          } else if (what === 2) {
            // A correction makes room again, so that the cap is approached from both sides.
            const path = "/instances/prod/entitlements/calls/usage"
            const { status, text } = await call(node, "POST", path, { value: -quantity })
            if (status === 200) used -= quantity
            else if (status !== 422) unexpected.push(text)
          } else if (mine !== undefined && what === 3) {
            held.pop()
            const part = random(mine.quantity + 1)
            const { status, text } = await call(node, "POST", `/reservations/${mine.id}/commit`, { quantity: part })
            if (status !== 200) unexpected.push(text)
            used += part
            committed += 1
          } else if (mine !== undefined && what === 4) {
            held.pop()
            const { status, text } = await call(node, "DELETE", `/reservations/${mine.id}`)
            if (status !== 204) unexpected.push(text)
          } else {
            const path = "/instances/prod/entitlements/calls/reservations"
            const { body, status, text } = await call(node, "POST", path, { quantity, expiresInSeconds: 3600 })
            if (status === 201) held.push({ id: body.id, quantity })
            else if (body.code === "Reserve.LimitReached") rejections += 1
            else unexpected.push(text)
          }
        }
        return held.reduce((sum, { quantity }) => sum + quantity, 0)
      }
      const left = yield* Effect.promise(() =>
        Promise.all(Array.from({ length: CLIENTS }, (_, number) => client(number))),
      )
      const held = left.reduce((sum, quantity) => sum + quantity, 0)
      assert.deepStrictEqual([unexpected, over], [[], []])
      assert.isAbove(committed, 50)
      assert.isAbove(rejections, 50)
      assert.isAtMost(used + held, 500)
      for (const node of [0, 1]) {
        const asked = { checks: [{ entitlement: "calls", requested: 0 }], explain: true }
        const { body } = yield* Effect.promise(() => call(node, "POST", "/instances/prod/check", asked))
        const [answer] = body.checks
        assert.deepStrictEqual(
          [answer.usage, answer.explanation.held, answer.remaining],
          [used, held, 500 - used - held],
        )
      }
    }).pipe(Effect.provide(Layer.fresh(testSql))),
  )

  it.live("void each event once, while both count more", () =>
    Effect.gen(function* () {
      const { call } = yield* openTwoNodes
      const path = "/instances/prod/entitlements/calls/usage"
      const statuses = new Map<string, number>()
      const count = (what: string, status: number) =>
        statuses.set(`${what} ${status}`, (statuses.get(`${what} ${status}`) ?? 0) + 1)
      const client = async (number: number) => {
        const random = randomIntegers(number + 1)
        for (let turn = 0; turn < 20; turn++) {
          const node = random(2)
          const value = 1 + random(3)
          const what = random(4)
          if (what === 0) {
            const { body } = await call(node, "GET", `${path}/events?limit=5`)
            const id: string | undefined = body.items[random(body.items.length)]?.id
            if (id === undefined) continue
            const voided = await Promise.all([0, 1].map((each) => call(each, "DELETE", `${path}/events/${id}`)))
            for (const { status } of voided) count("void", status)
          } else if (what === 1) {
            const checks = [{ entitlement: "calls", requested: value }]
            count("consume", (await call(node, "POST", "/instances/prod/check", { checks, consume: true })).status)
          } else if (what === 2) {
            const event = { specversion: "1.0", source: "/tests", type: "calls", subject: "prod", data: { value } }
            const sent = await call(node, "POST", "/usage-events", { ...event, id: `${number} ${turn}` })
            count("event", sent.status)
          } else {
            count("report", (await call(node, "POST", path, { value })).status)
          }
        }
      }
      yield* Effect.promise(() => Promise.all(Array.from({ length: 12 }, (_, number) => client(number))))
      // A rejection is one of the limit; nothing else fails.
      const expected = ["void 204", "void 404", "consume 200", "event 200", "report 200", "event 409", "report 409"]
      assert.deepStrictEqual(
        [...statuses.keys()].filter((status) => !expected.includes(status)),
        [],
      )
      const all = yield* Effect.promise(async () => {
        const items: Array<{ readonly value: number; readonly voidedAt: string | null }> = []
        for (let query = "?limit=200"; query !== "";) {
          const { body } = await call(items.length, "GET", `${path}/events${query}`)
          items.push(...body.items)
          query = body.hasMore === true ? `?limit=200&cursor=${body.nextCursor}` : ""
        }
        return items
      })
      const left = all.filter(({ voidedAt }) => voidedAt === null)
      assert.isAbove(all.length - left.length, 20)
      assert.strictEqual(statuses.get("void 204"), all.length - left.length)
      const sum = left.reduce((total, { value }) => total + value, 0)
      for (const node of [0, 1]) {
        const { body } = yield* Effect.promise(() => call(node, "GET", path))
        assert.deepStrictEqual([body.usageValue.value, body.usageValue.event_count], [sum, left.length])
      }
      const { body } = yield* Effect.promise(() => call(0, "GET", "/events?type=USAGE_EVENT_VOIDED&limit=200"))
      assert.strictEqual(body.items.length, all.length - left.length)
    }).pipe(Effect.provide(Layer.fresh(testSql))),
  )
})
