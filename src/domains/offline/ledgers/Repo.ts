/** SQL of ledgers, and of the bundles that they name. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Position } from "../../../kernel/contract/Page.ts"
import { dueRowsOf } from "../../../kernel/database/DueOrganizations.ts"
import type { DueRows, RowsInTurn } from "../../../kernel/database/DueOrganizations.ts"
import { transactionsByIndex } from "../../../kernel/database/RowsByKey.ts"
import { decoded, decodedOne, decodedValue, records } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { OfflineLedger } from "./Model.ts"
import { NamedBundle } from "./Rules.ts"
import type { LedgerPosition } from "./Rules.ts"

const { instance: _instance, ...ledgerFields } = OfflineLedger.fields

/** A ledger as it is stored, without the slug of its instance. */
const LedgerRow = Schema.Struct({
  ...ledgerFields,
  /** The newest bundle that a line has named. */
  bundleSequence: Schema.NullOr(Schema.Int),
})
export type LedgerRow = typeof LedgerRow.Type

/** The record of a ledger. */
export const ledgerOf = ({ bundleSequence: _, ...row }: LedgerRow, instance: string): OfflineLedger => ({
  instance,
  ...row,
})

/** Names a ledger, which need not exist, at an instant. */
export interface LedgerKey {
  readonly instanceId: string
  readonly source: string
  /** The hash of the source. */
  readonly start: string
  readonly at: Date
  /** How long it is kept at least; by default as long as usage of a bundle of the instance can be uploaded. */
  readonly keepUntil?: Date
}

/** The position of a ledger after an upload. */
type LedgerChange = LedgerPosition & Pick<LedgerRow, "bundleSequence" | "closedAt">

/** A line that does not follow the one before it. */
interface ForkedLine {
  readonly number: number
  readonly hash: string
}

/** Stores and reads ledgers. */
export class LedgersRepo extends Context.Service<
  LedgersRepo,
  {
    /** Locks a ledger until the transaction ends. One that does not exist begins without lines. */
    readonly lock: (organizationId: OrganizationId, key: LedgerKey) => Effect.Effect<LedgerRow>
    /** Stores the new position of a locked ledger. */
    readonly update: (organizationId: OrganizationId, key: LedgerKey, change: LedgerChange) => Effect.Effect<LedgerRow>
    /** Marks a ledger as forked. Returns it, or none if the same line was the last one that did not follow. */
    readonly markForked: (
      organizationId: OrganizationId,
      key: LedgerKey,
      line: ForkedLine,
    ) => Effect.Effect<Option.Option<LedgerRow>>
    /** Up to `count` ledgers of an instance, in the order of their sources, after a position. */
    readonly list: (
      organizationId: OrganizationId,
      instanceId: string,
      after: Position | null,
      count: number,
    ) => Effect.Effect<ReadonlyArray<LedgerRow>>
    /** How many lines these ledgers of an instance have. */
    readonly countLines: (
      organizationId: OrganizationId,
      instanceId: string,
      sources: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyMap<string, number>>
    /** Those of these bundles that the instance has, revoked or not. */
    readonly findBundles: (
      organizationId: OrganizationId,
      instanceId: string,
      ids: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<NamedBundle>>
    /**
     * Deletes ledgers to which nothing can be uploaded any more. One whose instance has got a newer bundle since its last upload
     * stays as long as that. Returns how many were due.
     */
    readonly deleteExpired: (at: Date, count: number) => Effect.Effect<number>
  }
>()("keyshelf/offline/ledgers/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(LedgersRepo, make))
}

const uploads = (sql: PgClient.PgClient) => {
  const columns =
    sql.literal(`source, lines::float8 AS lines, head, bundle_sequence AS "bundleSequence", closed_at AS "closedAt",
    forked_at AS "forkedAt", created_at AS "createdAt", updated_at AS "updatedAt"`)
  const one = Effect.map((row: Option.Option<LedgerRow>) => Option.getOrThrow(row))
  // A ledger of an instance without bundles can be deleted at once: nothing of it counts. Not
  // every database takes this subquery in VALUES, so the rows are selected.
  const lastUpload = (organizationId: OrganizationId, instanceId: string, at: Date) => sql`
    greatest((SELECT max(usage_until) FROM offline_bundles
      WHERE organization_id = ${organizationId} AND instance_id = ${instanceId}), ${at}::timestamptz)`
  const newRow = (organizationId: OrganizationId, { at, instanceId, keepUntil = at, source, start }: LedgerKey) => sql`
    ${organizationId}::uuid, ${instanceId}::uuid, ${source}::text, 0, ${start}::text, ${lastUpload(organizationId, instanceId, keepUntil)},
    ${at}::timestamptz, ${at}::timestamptz`

  return {
    lock: (organizationId: OrganizationId, key: LedgerKey) =>
      one(
        decodedOne(LedgerRow)(sql`
          INSERT INTO offline_ledgers AS ledger (organization_id, instance_id, source, lines, head, until, created_at,
            updated_at)
          SELECT ${newRow(organizationId, key)}
          ON CONFLICT (organization_id, instance_id, source) DO UPDATE SET until = greatest(ledger.until, excluded.until)
          RETURNING ${columns}`),
      ),

    update: (organizationId: OrganizationId, { at, instanceId, source }: LedgerKey, change: LedgerChange) =>
      one(
        decodedOne(LedgerRow)(sql`
          UPDATE offline_ledgers SET lines = ${change.lines}, head = ${change.head},
            bundle_sequence = ${change.bundleSequence}, closed_at = ${change.closedAt}, updated_at = ${at}
          WHERE organization_id = ${organizationId} AND instance_id = ${instanceId} AND source = ${source}
          RETURNING ${columns}`),
      ),

    markForked: (organizationId: OrganizationId, key: LedgerKey, { hash, number }: ForkedLine) =>
      decodedOne(LedgerRow)(sql`
        INSERT INTO offline_ledgers AS ledger (organization_id, instance_id, source, lines, head, until, created_at,
          updated_at, forked_at, forked_line, forked_hash)
        SELECT ${newRow(organizationId, key)}, ${key.at}::timestamptz, ${number}::bigint, ${hash}
        ON CONFLICT (organization_id, instance_id, source) DO UPDATE SET forked_at = excluded.forked_at,
          forked_line = excluded.forked_line, forked_hash = excluded.forked_hash, updated_at = excluded.updated_at
        WHERE (ledger.forked_line, ledger.forked_hash) IS DISTINCT FROM (excluded.forked_line, excluded.forked_hash)
        RETURNING ${columns}`),

    list: (organizationId: OrganizationId, instanceId: string, after: Position | null, count: number) =>
      records<LedgerRow>()(sql`
        SELECT ${columns} FROM offline_ledgers
        WHERE organization_id = ${organizationId} AND instance_id = ${instanceId}
          AND source > ${after === null ? "" : String(after[0])}
        ORDER BY source LIMIT ${count}`),

    countLines: (organizationId: OrganizationId, instanceId: string, sources: ReadonlyArray<string>) =>
      Effect.map(
        decoded(Schema.Struct({ source: Schema.String, lines: Schema.Int }))(sql`
          SELECT source, lines::float8 AS lines FROM offline_ledgers
          WHERE organization_id = ${organizationId} AND instance_id = ${instanceId} AND source = ANY(${sources}::text[])`),
        (rows) => new Map(rows.map(({ lines, source }) => [source, lines])),
      ),

    findBundles: (organizationId: OrganizationId, instanceId: string, ids: ReadonlyArray<string>) =>
      decoded(NamedBundle)(sql`
        SELECT id, sequence, issued_at AS "issuedAt", expires_at AS "expiresAt", usage_until AS "usageUntil"
        FROM offline_bundles
        WHERE organization_id = ${organizationId} AND instance_id = ${instanceId}
          AND id IN (SELECT jsonb_array_elements_text(${sql.json(ids)})::uuid)`),
  }
}

const dueIn = decodedValue("due", Schema.Int)

const deletions = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const processDue = yield* dueRowsOf("offline_ledgers")
  const runByIndex = yield* transactionsByIndex
  const expired =
    (at: Date): DueRows =>
    (select, scope, count) =>
      sql`
    SELECT ${sql.literal(select)} FROM offline_ledgers WHERE ${scope} until <= ${at} ORDER BY until LIMIT ${count}`
  const deleteIn = ({ count, organizationId, scope }: RowsInTurn, at: Date) => {
    const ofSame = (row: string) =>
      organizationId === null ? sql.literal(`${row}.organization_id`) : sql`${organizationId}`
    const ofRows = organizationId === null ? sql`` : sql`ledger.organization_id = ${organizationId} AND`
    return Effect.map(
      dueIn(sql`
          WITH due AS MATERIALIZED (
            ${expired(at)("organization_id, instance_id, ctid AS location", scope, count)} FOR UPDATE SKIP LOCKED
          ), newest AS MATERIALIZED (
            SELECT due.*, (SELECT max(bundle.usage_until) FROM (
              SELECT usage_until FROM offline_bundles
              WHERE organization_id = ${ofSame("due")} AND instance_id BETWEEN due.instance_id AND due.instance_id
              ORDER BY instance_id, sequence OFFSET 0) AS bundle) AS until
            FROM due
          ), extended AS (
            UPDATE offline_ledgers ledger SET until = newest.until FROM newest
            WHERE ${ofRows} ledger.ctid = newest.location AND newest.until > ${at}
          ), deleted AS (
            DELETE FROM offline_ledgers ledger USING newest
            WHERE ${ofRows} ledger.ctid = newest.location AND coalesce(newest.until <= ${at}, true)
          )
          SELECT count(*)::int AS due FROM due`),
      Option.getOrThrow,
    )
  }

  return {
    deleteExpired: (at: Date, count: number) =>
      processDue(expired(at), count, (rows) => runByIndex(deleteIn(rows, at))),
  }
})

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  return { ...uploads(sql), ...(yield* deletions) }
})
