import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Effect, Exit, Layer, Option } from "effect"
import { ConnectionError, ConstraintError, SqlError, UnknownError } from "effect/sql/SqlError"
import { accountIn, accountName, post } from "../../src/domains/usage/ledger/Account.ts"
import type { Account } from "../../src/domains/usage/ledger/Account.ts"
import { emptyTotal } from "../../src/domains/usage/rules/Aggregation.ts"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import type { Operation } from "../../src/domains/usage/ledger/Operation.ts"
import { OptimisticRepo } from "../../src/domains/usage/ledger/OptimisticRepo.ts"
import { OptimisticLedger } from "../../src/domains/usage/ledger/OptimisticLedger.ts"

const at = new Date("2026-05-01T00:00:00Z")
const actor = { id: "00000000-0000-7000-8000-000000000001", name: "test" }

const calls: Meter = {
  organizationId: "o",
  instanceId: "i",
  instance: "prod",
  license: "pro",
  startLicenseDate: at,
  endLicenseDate: null,
  entitlementId: "e",
  entitlement: "calls",
  entitlementName: "Calls",
  type: "NUMBER",
  aggregationMethod: "SUM",
  resetPeriod: null,
  resetAnchor: null,
  warningThresholdPercent: null,
  displayOrder: 0,
  granted: "100",
  overagePercent: 0,
}

const total = {
  instanceId: calls.instanceId,
  entitlementId: calls.entitlementId,
  periodStart: at,
  total: emptyTotal,
  crossings: { warned: false, limitReached: false, capExceeded: false },
  location: "(0,1)",
  version: "1",
  held: BigDecimal.fromBigInt(0n),
  decidedAt: at,
}

/** What is stored, told to a test. */
const storing = (store: OptimisticRepo["Service"]["store"], isSharded = false) =>
  OptimisticLedger.layer.pipe(
    Layer.provide(
      Layer.succeed(OptimisticRepo, {
        isSharded,
        read: (named) =>
          Effect.succeed(
            named.map(({ organizationId }) => ({
              meter: { ...calls, organizationId },
              total: { ...total, instanceId: organizationId },
            })),
          ),
        store,
      }),
    ),
  )

/** Counts one call of the organization and answers its id. */
const operationOf = (organizationId: string): Operation<string, never> => ({
  organizationId,
  meters: [{ instance: "prod", entitlement: "calls" }],
  prepare: ([meter = calls]) => {
    const use = { meter, at, uniqueKey: null }
    return {
      uses: [use],
      decide: (accounts) => {
        const used = { behavior: "append", value: BigDecimal.fromBigInt(1n), uniqueKey: null, metadata: null } as const
        const name = accountName(use)
        const { account } = post(accountIn(accounts, name), { ...used, timestamp: at, reportedBy: actor })
        return { answer: Exit.succeed(organizationId), accounts: new Map([[name, account]]) }
      },
    }
  },
})

const count = (...organizations: ReadonlyArray<string>) =>
  Effect.flatMap(OptimisticLedger, (ledger) =>
    Effect.forEach(organizations, (id) => Effect.exit(ledger.apply(operationOf(id))), { concurrency: "unbounded" }),
  )

const organizationsOf = (accounts: ReadonlyArray<Account>) => accounts.map(({ meter }) => meter.organizationId)

/** All is stored, but at first only of the winners. Tells of which organizations each statement was. */
const recording = ({ isSharded = false, winners }: { isSharded?: boolean; winners?: ReadonlyArray<string> } = {}) => {
  const stored: Array<ReadonlyArray<string>> = []
  const store = (accounts: ReadonlyArray<Account>) =>
    Effect.sync(() => {
      const organizations = organizationsOf(accounts)
      return new Set(stored.push(organizations) === 1 ? (winners ?? organizations) : organizations)
    })
  return { layer: storing(store, isSharded), stored }
}

const counted = (organizationId: string) => Exit.succeed(Option.some(Exit.succeed(organizationId)))

/** A counter that somebody else wins so many times. Tells how often it was tried to store. */
const counterWonByOthers = (times: number) => {
  const tries = { count: 0 }
  const store = (accounts: ReadonlyArray<Account>) =>
    Effect.sync(() => new Set(++tries.count > times ? organizationsOf(accounts) : []))
  return { counted: Effect.provide(count("o"), storing(store)), tries }
}

const failing = (reason: SqlError["reason"]) => Effect.die(new SqlError({ reason }))

describe("usage that loses its counter to another node", () => {
  it.effect("is tried again, and counted without a lock once nobody else was faster", () =>
    Effect.gen(function* () {
      const won = counterWonByOthers(5)
      assert.deepStrictEqual(yield* won.counted, [counted("o")])
      assert.strictEqual(won.tries.count, 6)
    }),
  )

  it.effect("is left to a decision under locks if somebody else always is", () =>
    Effect.gen(function* () {
      const won = counterWonByOthers(Number.POSITIVE_INFINITY)
      assert.deepStrictEqual(yield* won.counted, [Exit.succeed(Option.none())])
      assert.strictEqual(won.tries.count, 8)
    }),
  )
})

describe("usage of several organizations at a time", () => {
  it.effect("is stored by one statement", () =>
    Effect.gen(function* () {
      const { layer, stored } = recording()
      assert.deepStrictEqual(yield* Effect.provide(count("a", "b"), layer), [counted("a"), counted("b")])
      assert.deepStrictEqual(stored, [["a", "b"]])
    }),
  )

  it.effect("is stored by a statement for each where tables are spread over nodes", () =>
    Effect.gen(function* () {
      const { layer, stored } = recording({ isSharded: true })
      assert.deepStrictEqual(yield* Effect.provide(count("a", "b"), layer), [counted("a"), counted("b")])
      assert.deepStrictEqual(stored, [["a"], ["b"]])
    }),
  )

  it.effect("is tried again only for those who lost", () =>
    Effect.gen(function* () {
      const { layer, stored } = recording({ winners: ["a"] })
      assert.deepStrictEqual(yield* Effect.provide(count("a", "b"), layer), [counted("a"), counted("b")])
      assert.deepStrictEqual(stored, [["a", "b"], ["b"]])
    }),
  )

  it.effect("is counted for all but whose statement the database refuses, who is left to a decision under locks", () =>
    Effect.gen(function* () {
      const refused = failing(new ConstraintError({ cause: new Error("check") }))
      const layer = storing((accounts) =>
        organizationsOf(accounts).includes("a") ? refused : Effect.succeed(new Set(organizationsOf(accounts))),
      )
      assert.deepStrictEqual(yield* Effect.provide(count("a", "b"), layer), [Exit.succeed(Option.none()), counted("b")])
    }),
  )
})

describe("usage that was sent to be stored when the database went away", () => {
  const gone = {
    "by its connection": new ConnectionError({ cause: new Error("Connection closed"), operation: "query" }),
    "by being shut down": new UnknownError({ cause: { code: "57P01" }, operation: "query" }),
  }
  for (const [how, reason] of Object.entries(gone)) {
    it.effect(`dies instead of being counted a second time (${how})`, () =>
      Effect.gen(function* () {
        let tries = 0
        const layer = storing(() => Effect.suspend(() => (tries++, failing(reason))))
        const exits = yield* Effect.provide(count("a", "b"), layer)
        assert.deepStrictEqual(exits.map(Exit.hasDies), [true, true])
        assert.strictEqual(tries, 1)
      }),
    )
  }

  it.effect("is decided under locks if it could not be sent", () =>
    Effect.gen(function* () {
      const layer = storing(() => failing(new ConnectionError({ cause: new Error("refused"), operation: "connect" })))
      assert.deepStrictEqual(yield* Effect.provide(count("a"), layer), [Exit.succeed(Option.none())])
    }),
  )
})
