/** SQL of refills without locks: one statement reads what all that wait need, one stores what has not changed since. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema, Struct } from "effect"
import { Commits } from "../../../kernel/database/Connections.ts"
import { column, decoded, decodedColumn } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import { StoredTranche } from "../../usage/tranches/Model.ts"
import type { SharedTranche } from "../../usage/tranches/Model.ts"
import { sharedTranches, storedRefills, unchangedTotals } from "../../usage/tranches/StoreSql.ts"
import type { RefilledAccount, RefilledChange } from "../../usage/tranches/StoreSql.ts"
import type { LedgerPosition } from "../ledgers/Rules.ts"

/** Names a ledger of any organization. */
interface NamedLedger {
  readonly organizationId: OrganizationId
  readonly instance: string
  readonly source: string
}

const LedgerFields = Schema.Struct({
  instanceId: Schema.String,
  lines: Schema.Int,
  head: Schema.String,
  closedAt: Schema.NullOr(Schema.Date),
  /** The location and the version of the row. Every refill gives it another version. */
  location: Schema.String,
  version: Schema.String,
})

/** A row of a ledger: with a tranche of its holder, or without any. */
const FoundRow = Schema.Struct({
  /** The index of the name. */
  number: Schema.Int,
  ...LedgerFields.fields,
  ...Struct.map(StoredTranche.fields, Schema.NullOr),
  others: Schema.NullOr(Schema.Int),
})

/** A ledger, with what its holder has. */
export interface FoundLedger extends Schema.Schema.Type<typeof LedgerFields> {
  readonly own: ReadonlyArray<SharedTranche>
}

/** A ledger after a refill. */
interface MovedLedger extends Pick<FoundLedger, "location" | "version"> {
  readonly position: LedgerPosition
  readonly keepUntil: Date
  /** How many totals the refill uses. */
  readonly totals: number
}

/** Refills that are decided: numbers are those of the ledgers, from 1 on. */
interface DecidedRefills {
  readonly ledgers: ReadonlyArray<MovedLedger>
  readonly accounts: ReadonlyArray<RefilledAccount>
  readonly changes: ReadonlyArray<RefilledChange>
}

/** Reads and stores ledgers, totals and tranches without waiting for locks. */
export class RefillsRepo extends Context.Service<
  RefillsRepo,
  {
    /** The ledgers that exist, by the index of their names. */
    readonly find: (named: ReadonlyArray<NamedLedger>, at: Date) => Effect.Effect<ReadonlyMap<number, FoundLedger>>
    /**
     * Stores refills, each as a whole or not at all: not if its ledger or one of its totals has changed since it was read, or is locked.
     * Returns the numbers of those that were stored.
     */
    readonly store: (refills: DecidedRefills, at: Date) => Effect.Effect<ReadonlySet<number>>
  }
>()("keyshelf/offline/tranches/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(RefillsRepo, make))
}

const foundOf = (rows: ReadonlyArray<typeof FoundRow.Type>): FoundLedger => {
  const [{ closedAt, head, instanceId, lines, location, version }] = rows as [typeof FoundRow.Type]
  const own = rows.filter((row) => row.ledger !== null) as ReadonlyArray<unknown> as ReadonlyArray<SharedTranche>
  return { instanceId, lines, head, closedAt, location, version, own }
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const { ask } = yield* Commits

  return RefillsRepo.of({
    find: (named, at) => {
      const asked = named.map(({ instance, organizationId: organization_id, source }) => ({
        organization_id,
        instance,
        source,
      }))
      const rows = decoded(FoundRow)(
        ask(
          (own) => own`
          SELECT asked.number::int - 1 AS number, i.id AS "instanceId", l.lines::float8 AS lines, l.head,
            l.closed_at AS "closedAt", l.location, l.version, r.*
          FROM ROWS FROM (
            jsonb_to_recordset(${sql.json(asked)}) AS (organization_id uuid, instance text, source text)
          ) WITH ORDINALITY AS asked (organization_id, instance, source, number)
          CROSS JOIN LATERAL (
            SELECT id FROM ${instancesSql.rows} WHERE organization_id = asked.organization_id AND slug = asked.instance OFFSET 0
          ) i
          CROSS JOIN LATERAL (
            SELECT lines, head, closed_at, ctid::text AS location, xmin::text AS version FROM offline_ledgers
            WHERE organization_id = asked.organization_id AND instance_id = i.id AND source = asked.source OFFSET 0
          ) l
          LEFT JOIN LATERAL (${sharedTranches(sql, at)} OFFSET 0) r ON true`,
        ),
      )
      return Effect.map(
        rows,
        (all) =>
          new Map(
            Array.from(
              Map.groupBy(all, ({ number }) => number),
              ([number, of]) => [number, foundOf(of)],
            ),
          ),
      )
    },

    store: ({ accounts, changes, ledgers }, at) => {
      const numbers = decodedColumn(
        "refill",
        Schema.Int,
      )(
        ask(
          (own) => own`
          WITH changed AS MATERIALIZED (${unchangedTotals(sql, accounts)}
          ), followed AS MATERIALIZED (
            SELECT l.ctid AS now_at, l.organization_id, l.instance_id, l.source, sent.*
            FROM unnest(
              (SELECT ${column("text", ledgers, ({ location }) => location)}::tid[]),
              ${column("text", ledgers, ({ version }) => version)}::xid[],
              ${column("float8", ledgers, ({ position }) => position.lines)},
              ${column("text", ledgers, ({ position }) => position.head)},
              ${column("timestamptz", ledgers, ({ keepUntil }) => keepUntil)},
              ${column("int4", ledgers, ({ totals }) => totals)}
            ) WITH ORDINALITY AS sent (location, version, lines, head, keep_until, totals, refill)
            JOIN offline_ledgers l ON l.ctid = sent.location AND l.xmin = sent.version
            FOR NO KEY UPDATE OF l SKIP LOCKED
          ), whole AS MATERIALIZED (
            SELECT refill FROM followed
            WHERE totals = (SELECT count(*) FROM changed WHERE changed.refill = followed.refill)
          ), ${storedRefills(sql, accounts, changes, at)}
          UPDATE offline_ledgers l SET lines = followed.lines, head = followed.head,
            updated_at = CASE WHEN l.lines < followed.lines THEN ${at}::timestamptz ELSE l.updated_at END,
            until = greatest(l.until, followed.keep_until)
          FROM followed WHERE l.ctid = followed.now_at AND followed.refill IN (SELECT refill FROM whole)
          RETURNING followed.refill::int AS refill`,
        ),
      )
      return Effect.map(numbers, (all) => new Set(all))
    },
  })
})
