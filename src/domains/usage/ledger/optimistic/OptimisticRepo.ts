/**
 * SQL that reads meters and totals without a lock, and stores what was posted to totals that have not changed since.
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import type { Fragment } from "effect/sql/Statement"
import { Commits } from "../../../../kernel/database/Connections.ts"
import type { Ask } from "../../../../kernel/database/Connections.ts"
import { records } from "../../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../../kernel/values/Identifiers.ts"
import type { Account } from "../Account.ts"
import { readSnapshots, snapshotSql } from "./SnapshotSql.ts"
import type { MeterSnapshot, OrganizationMeterName } from "./SnapshotSql.ts"
import { storeAcross } from "./StoreSql.ts"

interface OptimisticQueries {
  /** Whether a statement takes accounts of one organization only. */
  readonly separatesOrganizations: boolean
  /** Those of the named meters that exist, with their totals around an instant. */
  readonly read: (named: ReadonlyArray<OrganizationMeterName>, at: Date) => Effect.Effect<ReadonlyArray<MeterSnapshot>>
  /**
   * Stores what was posted to accounts: all accounts of an organization, or none. It stores none if one of them has
   * changed since it was read, or another transaction has locked it. It never waits. Returns the organizations whose
   * accounts were stored.
   */
  readonly store: (accounts: ReadonlyArray<Account>, at: Date) => Effect.Effect<ReadonlySet<string>>
}

/** Runs a statement that stores accounts, and returns the rows of their organizations. */
export const stored = (ask: Ask, statement: Fragment) =>
  records<{ readonly organizationId: OrganizationId }>()(ask((own) => own`${statement}`))

/** The organizations of {@link stored} rows. */
export const organizationsStored = (
  rows: ReadonlyArray<{ readonly organizationId: OrganizationId }>,
): ReadonlySet<string> => new Set(rows.map(({ organizationId }) => organizationId))

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* Commits
  const { across } = snapshotSql(sql, ask)
  return {
    separatesOrganizations: false,
    read: readSnapshots(across),
    store: (accounts, at) => Effect.map(stored(ask, storeAcross(sql, accounts, at)), organizationsStored),
  } satisfies OptimisticQueries
})

/** Rows of meters and totals, without locks. */
export class OptimisticRepo extends Context.Service<OptimisticRepo, OptimisticQueries>()(
  "keyshelf/usage/ledger/optimistic/OptimisticRepo",
) {
  static readonly layer = Layer.effect(OptimisticRepo, make)
}
