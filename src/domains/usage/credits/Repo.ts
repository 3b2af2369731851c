/** SQL of credits. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Option, Schema } from "effect"
import type { Fragment } from "effect/sql/Statement"
import type { ActorReference } from "../../../kernel/contract/Caller.ts"
import type { Affected, AffectedInstance } from "../../../kernel/contract/dryruns/Impact.ts"
import { idBefore } from "../../../kernel/contract/Page.ts"
import type { Position } from "../../../kernel/contract/Page.ts"
import { affectedRows } from "../../../kernel/database/AffectedRows.ts"
import { rowByKey } from "../../../kernel/database/RowsByKey.ts"
import { decoded, decodedOne, decodedValue, returnedRow } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { customersSql } from "../../customers/CustomersSql.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import { creditsAt } from "../rules/Burn.ts"
import type { Credit } from "../rules/Burn.ts"
import { creditOf, StoredCredit } from "../rules/StoredCredit.ts"
import { activeCredits, canPayAfter } from "../terms/CreditsSql.ts"
import { setAside } from "../terms/HeldSql.ts"
import { CreditRow } from "./Model.ts"

/** The holder of credits, and their entitlement. */
interface CreditKey {
  readonly instanceId: string
  readonly entitlementId: string
}

/** A new credit. */
type NewCredit = Omit<
  CreditRow,
  "instance" | "customer" | "entitlement" | "used" | "reserved" | "voidedAt" | "voidedBy"
>

/** A use of a credit, with the place of its event. */
const UseRow = Schema.Struct({
  id: Schema.String,
  instance: Schema.String,
  instanceId: Schema.String,
  entitlementId: Schema.String,
  periodStart: Schema.Date,
  ordinal: Schema.Finite,
  timestamp: Schema.Date,
  /** A decimal. */
  quantity: Schema.String,
})
export type UseRow = typeof UseRow.Type

interface CreditQueries {
  /**
   * The credits of a holder that are active at an instant, in the order in which they burn: those with something left, and one that is
   * used up, because it still grants.
   */
  readonly active: (organizationId: OrganizationId, key: CreditKey, at: Date) => Effect.Effect<ReadonlyArray<Credit>>
  /** The credit with an id, with what is set aside of it at an instant. */
  readonly find: (organizationId: OrganizationId, id: string, at: Date) => Effect.Effect<Option.Option<CreditRow>>
  /** The credit with an external id. */
  readonly findByExternalId: (
    organizationId: OrganizationId,
    externalId: string,
    at: Date,
  ) => Effect.Effect<Option.Option<CreditRow>>
  /** How many are neither used up, voided nor expired at an instant. */
  readonly countOpen: (organizationId: OrganizationId, key: CreditKey, at: Date) => Effect.Effect<number>
  /** These credits, in the order in which they burn. */
  readonly listOpen: (
    organizationId: OrganizationId,
    key: CreditKey,
    at: Date,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<CreditRow>>
  /** All credits, newest first. */
  readonly listAll: (
    organizationId: OrganizationId,
    key: CreditKey,
    at: Date,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<CreditRow>>
  /** Stores a credit. Returns false if another one has its external id. */
  readonly insert: (organizationId: OrganizationId, row: NewCredit) => Effect.Effect<boolean>
  /** Voids a credit. Returns false if there is none, or it was voided. */
  readonly void: (organizationId: OrganizationId, id: string, by: ActorReference, at: Date) => Effect.Effect<boolean>
  /** What a credit paid and got back, without voided events, newest first. */
  readonly listUses: (
    organizationId: OrganizationId,
    id: string,
    after: Position | null,
    count: number,
  ) => Effect.Effect<ReadonlyArray<UseRow>>
  /** Instances with credits of an entitlement. */
  readonly instancesWith: (
    organizationId: OrganizationId,
    entitlement: { readonly id: string },
  ) => Effect.Effect<Affected<AffectedInstance>>
}

/** Stores and reads credits. */
export class CreditsRepo extends Context.Service<CreditsRepo, CreditQueries>()("keyshelf/usage/credits/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(CreditsRepo, make))
}

const COLUMNS = `c.id, c.holder_id AS "instanceId", i.slug AS instance, cu.slug AS customer, c.entitlement_id AS "entitlementId",
  e.slug AS entitlement, c.amount::text AS amount, c.used::text AS used, aside.quantities ->> c.id::text AS reserved, c.priority,
  c.starts_at AS "startsAt", c.expires_at AS "expiresAt", c.reason, c.external_id AS "externalId", c.created_at AS "createdAt",
  c.created_by AS "createdBy", c.voided_at AS "voidedAt", c.voided_by AS "voidedBy"`

const rowsIn = (sql: PgClient.PgClient) => {
  const columns = sql.literal(COLUMNS)
  /** The rows of credits `c` that a condition chooses. Events of expired ones read them in the background, so their names are looked up. */
  return (organizationId: OrganizationId, at: Date, condition: Fragment, credits = sql`credits c`): Fragment => {
    const meter = { organization: sql`${organizationId}`, instance: "c.holder_id", entitlement: "c.entitlement_id" }
    return sql`
        SELECT ${columns} FROM ${credits}
        CROSS JOIN (SELECT ${at}::timestamptz AS at) asked
        CROSS JOIN ${instancesSql.byKey(sql, "slug, customer_id", organizationId, "c.holder_id")} AS i
        CROSS JOIN ${customersSql.byKey(sql, "slug", organizationId, "i.customer_id")} AS cu
        CROSS JOIN ${entitlementsSql.byKey(sql, "slug", organizationId, "c.entitlement_id")} AS e
        LEFT JOIN LATERAL (${setAside(sql, meter, { at: "asked.at" })}) aside ON true
        WHERE c.organization_id = ${organizationId} AND ${condition}`
  }
}

const reading = (sql: PgClient.PgClient) => {
  const rows = rowsIn(sql)
  const open = sql.literal(canPayAfter("asked.at"))
  const ofKey = ({ entitlementId, instanceId }: CreditKey): Fragment =>
    sql`c.holder_id = ${instanceId} AND c.entitlement_id = ${entitlementId}`
  const after = (position: Position | null): Fragment =>
    position === null
      ? sql``
      : sql`AND (c.priority, coalesce(c.expires_at, 'infinity'), c.created_at, c.id)
            > (${position[0]}::int, ${position[1]}::timestamptz, ${position[2]}::timestamptz, ${position[3]}::uuid)`

  return {
    find: (organizationId, id, at) => {
      const within = sql`organization_id = ${organizationId}`
      const credit = rowByKey(sql, "*", { table: "credits", within, column: "id", key: "wanted.id" })
      const wanted = sql`(SELECT ${id}::uuid AS id) AS wanted CROSS JOIN ${credit} AS c`
      return decodedOne(CreditRow)(sql`${rows(organizationId, at, sql`true`, wanted)}`)
    },

    findByExternalId: (organizationId, externalId, at) =>
      decodedOne(CreditRow)(sql`${rows(organizationId, at, sql`c.external_id = ${externalId}`)}`),

    countOpen: (organizationId, key, at) =>
      Effect.map(
        decodedValue(
          "count",
          Schema.Int,
        )(sql`
          SELECT count(*)::int AS count FROM credits c CROSS JOIN (SELECT ${at}::timestamptz AS at) asked
          WHERE c.organization_id = ${organizationId} AND ${ofKey(key)} AND ${open}`),
        Option.getOrThrow,
      ),

    listOpen: (organizationId, key, at, position, count) =>
      decoded(CreditRow)(sql`${rows(organizationId, at, sql`${ofKey(key)} AND ${open} ${after(position)}`)}
        ORDER BY c.priority, coalesce(c.expires_at, 'infinity'), c.created_at, c.id LIMIT ${count}`),

    listAll: (organizationId, key, at, position, count) =>
      decoded(CreditRow)(sql`${rows(organizationId, at, sql`${ofKey(key)} AND c.id < ${idBefore(position)}`)}
        ORDER BY c.id DESC LIMIT ${count}`),

    listUses: (organizationId, id, position, count) =>
      decoded(UseRow)(sql`
        SELECT u.id, i.slug AS instance, u.instance_id AS "instanceId", u.entitlement_id AS "entitlementId",
          u.period_start AS "periodStart", u.ordinal::float8 AS ordinal, u.at AS timestamp, u.quantity::text AS quantity
        FROM credit_uses u JOIN ${instancesSql.on("i", "u.instance_id")}
        WHERE u.organization_id = ${organizationId} AND u.credit_id = ${id} AND u.voided_at IS NULL
          ${position === null ? sql`` : sql`AND (u.at, u.id) < (${position[0]}::timestamptz, ${position[1]}::uuid)`}
        ORDER BY u.at DESC, u.id DESC LIMIT ${count}`),

    instancesWith: (organizationId, { id }) =>
      affectedRows<AffectedInstance>()(
        sql,
        sql`
        SELECT DISTINCT ON (i.id) i.slug, cu.slug AS customer FROM credits c
        JOIN ${instancesSql.on("i", "c.holder_id")}
        JOIN ${customersSql.on("cu", "i.customer_id")}
        WHERE c.organization_id = ${organizationId} AND c.entitlement_id = ${id} ORDER BY i.id`,
      ),
  } satisfies Partial<CreditQueries>
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient

  return CreditsRepo.of({
    ...reading(sql),

    active: (organizationId, { entitlementId, instanceId }, at) => {
      const meter = {
        organization: sql`${organizationId}`,
        instance: "asked.instance",
        entitlement: "asked.entitlement",
      }
      const statement = sql`
        SELECT (${activeCredits(sql, meter, { at: "asked.at" })}) AS credits
        FROM (SELECT ${instanceId}::uuid AS instance, ${entitlementId}::uuid AS entitlement, ${at}::timestamptz AS at) asked`
      return Effect.map(decodedValue("credits", Schema.NullOr(Schema.Array(StoredCredit)))(statement), (stored) =>
        creditsAt(Option.getOrElse(stored, () => []).map(creditOf), at),
      )
    },

    insert: (organizationId, row) =>
      returnedRow(sql`
        INSERT INTO credits (organization_id, id, holder_id, entitlement_id, amount, priority, starts_at, expires_at, reason,
          external_id, created_at, created_by)
        VALUES (${organizationId}, ${row.id}, ${row.instanceId}, ${row.entitlementId}, ${row.amount}::text::numeric,
          ${row.priority}, ${row.startsAt}, ${row.expiresAt}, ${row.reason}, ${row.externalId}, ${row.createdAt},
          ${sql.json(row.createdBy)})
        ON CONFLICT (organization_id, external_id) WHERE external_id IS NOT NULL DO NOTHING
        RETURNING id`),

    void: (organizationId, id, by, at) =>
      returnedRow(sql`
        UPDATE credits SET voided_at = ${at}, voided_by = ${sql.json(by)}
        WHERE organization_id = ${organizationId} AND id = ${id} AND voided_at IS NULL RETURNING id`),
  })
})
