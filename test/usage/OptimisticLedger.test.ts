import { assert, describe, it } from "@effect/vitest"
import { BigDecimal, Effect, Exit, Layer, Option } from "effect"
import { ConnectionError, ConstraintError, SqlError, UnknownError } from "effect/sql/SqlError"
import { accountIn, accountName } from "../../src/domains/usage/ledger/Account.ts"
import { post } from "../../src/domains/usage/ledger/Posting.ts"
import type { Account } from "../../src/domains/usage/ledger/Account.ts"
import { emptyTotal } from "../../src/domains/usage/rules/Aggregation.ts"
import type { Meter } from "../../src/domains/usage/ledger/Model.ts"
import type { Operation } from "../../src/domains/usage/ledger/Operation.ts"
import { OptimisticRepo } from "../../src/domains/usage/ledger/optimistic/OptimisticRepo.ts"
import { OptimisticLedger } from "../../src/domains/usage/ledger/optimistic/OptimisticLedger.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { organizationIdOf } from "../support/organizationIds.ts"

const at = new Date("2026-05-01T00:00:00Z")
const actor = { id: "00000000-0000-7000-8000-000000000001", name: "test" }

const calls: Meter = {
  organizationId: organizationIdOf("o"),
  instanceId: "i",
  instance: "prod",
  license: "pro",
  startLicenseDate: at,
  endLicenseDate: null,
  graceDays: 0,
  entitlementId: "e",
  entitlement: "calls",
  entitlementName: "Calls",
  type: "NUMBER",
  aggregationMethod: "SUM",
  resetPeriod: null,
  resetAnchor: null,
  warningThresholdPercent: null,
  displayOrder: 0,
  grant: { value: BigDecimal.fromBigInt(100n), overagePercent: 0 },
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
  allowed: BigDecimal.fromBigInt(0n),
  burned: BigDecimal.fromBigInt(0n),
  decidedAt: at,
}

/** The ledger on a repository whose `store` is replaced. */
const storing = (store: OptimisticRepo["Service"]["store"], separatesOrganizations = false) =>
  OptimisticLedger.layer.pipe(
    Layer.provide(
      Layer.succeed(OptimisticRepo, {
        separatesOrganizations,
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
const operationOf = (organizationId: OrganizationId): Operation<string, never> => ({
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
    Effect.forEach(organizations, (id) => Effect.exit(ledger.apply(operationOf(organizationIdOf(id)))), {
      concurrency: "unbounded",
    }),
  )

const organizationsOf = (accounts: ReadonlyArray<Account>): ReadonlyArray<string> =>
  accounts.map(({ meter }) => meter.organizationId)

/** A repository that stores everything, but in its first statement only the winners. It records the organizations. */
const recording = ({
  separatesOrganizations = false,
  winners,
}: { separatesOrganizations?: boolean; winners?: ReadonlyArray<string> } = {}) => {
  const stored: Array<ReadonlyArray<string>> = []
  const store = (accounts: ReadonlyArray<Account>) =>
    Effect.sync(() => {
      const organizations = organizationsOf(accounts)
      return new Set(stored.push(organizations) === 1 ? (winners ?? organizations) : organizations)
    })
  return { layer: storing(store, separatesOrganizations), stored }
}

const counted = (organizationId: string) => Exit.succeed(Option.some(Exit.succeed(organizationId)))

/** A repository whose `store` has a number of conflicts. It counts the tries. */
const counterWonByOthers = (times: number) => {
  const tries = { count: 0 }
  const store = (accounts: ReadonlyArray<Account>) =>
    Effect.sync(() => new Set(++tries.count > times ? organizationsOf(accounts) : []))
  return { counted: Effect.provide(count("o"), storing(store)), tries }
}

const failing = (reason: SqlError["reason"]) => Effect.die(new SqlError({ reason }))

describe("an operation with a conflict", () => {
  it.effect("is tried again until it is stored", () =>
    Effect.gen(function* () {
      const won = counterWonByOthers(5)
      assert.deepStrictEqual(yield* won.counted, [counted("o")])
      assert.strictEqual(won.tries.count, 6)
    }),
  )

  it.effect("is left to the locked ledger after eight tries", () =>
    Effect.gen(function* () {
      const won = counterWonByOthers(Number.POSITIVE_INFINITY)
      assert.deepStrictEqual(yield* won.counted, [Exit.succeed(Option.none())])
      assert.strictEqual(won.tries.count, 8)
    }),
  )
})

describe("operations of several organizations", () => {
  it.effect("are stored by one statement", () =>
    Effect.gen(function* () {
      const { layer, stored } = recording()
      assert.deepStrictEqual(yield* Effect.provide(count("a", "b"), layer), [counted("a"), counted("b")])
      assert.deepStrictEqual(stored, [["a", "b"]])
    }),
  )

  it.effect("are stored by one statement each if tables are sharded", () =>
    Effect.gen(function* () {
      const { layer, stored } = recording({ separatesOrganizations: true })
      assert.deepStrictEqual(yield* Effect.provide(count("a", "b"), layer), [counted("a"), counted("b")])
      assert.deepStrictEqual(stored, [["a"], ["b"]])
    }),
  )

  it.effect("are tried again only after a conflict of their own", () =>
    Effect.gen(function* () {
      const { layer, stored } = recording({ winners: ["a"] })
      assert.deepStrictEqual(yield* Effect.provide(count("a", "b"), layer), [counted("a"), counted("b")])
      assert.deepStrictEqual(stored, [["a", "b"], ["b"]])
    }),
  )

  it.effect("are stored except for one whose statement fails, which is left to the locked ledger", () =>
    Effect.gen(function* () {
      const rejected = failing(new ConstraintError({ cause: new Error("check") }))
      const layer = storing((accounts) =>
        organizationsOf(accounts).includes("a") ? rejected : Effect.succeed(new Set(organizationsOf(accounts))),
      )
      assert.deepStrictEqual(yield* Effect.provide(count("a", "b"), layer), [Exit.succeed(Option.none()), counted("b")])
    }),
  )
})

describe("an operation whose store statement was sent when the database went away", () => {
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

  it.effect("is left to the locked ledger if the statement was not sent", () =>
    Effect.gen(function* () {
      const layer = storing(() => failing(new ConnectionError({ cause: new Error("refused"), operation: "connect" })))
      assert.deepStrictEqual(yield* Effect.provide(count("a"), layer), [Exit.succeed(Option.none())])
    }),
  )
})
