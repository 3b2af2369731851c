/** SQL of the checks that a rehearsed upgrade decides again (docs/upgrading.md): all of an installation, from its backup. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema, Stream } from "effect"
import type { Option } from "effect"
import type { Statement } from "effect/sql/Statement"
import { decoded, decodedValue } from "../../../kernel/database/Statements.ts"
import { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { entitlementsSql } from "../../entitlements/EntitlementsSql.ts"
import { newestEventTime } from "../../events/EventsSql.ts"
import { mayBeAddedOn } from "../../instances/addons/AddOnsSql.ts"
import { instancesSql } from "../../instances/InstancesSql.ts"
import { entitlementsGrantedBy } from "../../licenses/grants/GrantSql.ts"
import { presentOrganizations } from "../../organizations/OrganizationsSql.ts"

const Organization = Schema.Struct({ id: OrganizationId, slug: Schema.String })

const Grant = Schema.Struct({ organization: Schema.String, instance: Schema.String, entitlement: Schema.String })

const Use = Schema.Struct({ ...Grant.fields, at: Schema.Date, requested: Schema.FiniteFromString })

/** Finds what to check. */
export class ReplayRepo extends Context.Service<
  ReplayRepo,
  {
    readonly organizations: Effect.Effect<ReadonlyArray<typeof Organization.Type>>
    /** When the newest event or report was stored: the time of a backup, as its rows tell it. */
    readonly newestTime: Effect.Effect<Option.Option<Date>>
    /** Each instance with each entitlement that its license, an add-on or an override of it grants. */
    readonly grants: Stream.Stream<typeof Grant.Type>
    /** The newest usage events of a time, each with the quantity that it counted: a check at its time requests as much. */
    readonly uses: (after: Date, until: Date, limit: number) => Stream.Stream<typeof Use.Type>
  }
>()("keyshelf/usage/replay/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(ReplayRepo, make))
}

/** The rows of a statement, a part at a time: there may be a million. */
const streamed = <A, I>(sql: PgClient.PgClient, row: Schema.Codec<A, I>, statement: Statement<unknown>) => {
  const decode = Schema.decodeUnknownEffect(Schema.Array(row))
  const rows = Effect.gen(function* () {
    const connection = yield* sql.reserve
    // The statement takes as long as what is done with its rows.
    yield* connection.executeUnprepared("SET statement_timeout = 0", [], undefined)
    yield* Effect.addFinalizer(() =>
      Effect.ignore(connection.executeUnprepared("RESET statement_timeout", [], undefined)),
    )
    const [text, values] = statement.compile()
    return connection.executeStream(text, values, undefined)
  })
  return Stream.unwrap(rows).pipe(
    Stream.grouped(1000),
    Stream.mapEffect((part) => decode(part)),
    Stream.flattenIterable,
    Stream.orDie,
  )
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient
  const own = sql.literal("i.organization_id")
  const organizations = presentOrganizations(sql)
  const names = sql.literal("o.slug AS organization, i.slug AS instance, e.slug AS entitlement")

  return ReplayRepo.of({
    organizations: decoded(Organization)(sql`${organizations}`),

    newestTime: decodedValue(
      "at",
      Schema.NullOr(Schema.Date),
    )(sql`SELECT greatest(${newestEventTime(sql)}, (SELECT max(reported_at) FROM usage_events)) AS at`),

    grants: streamed(
      sql,
      Grant,
      sql`
        SELECT ${names} FROM (${organizations}) o
        JOIN ${instancesSql.as("i")} ON i.organization_id = o.id
        JOIN ${entitlementsSql.as("e")} ON e.organization_id = i.organization_id AND (
          coalesce(i.overrides ? e.id::text, false) OR ${mayBeAddedOn(sql, own)}
          OR e.id IN (${entitlementsGrantedBy(sql, own, sql.literal("= i.license_id"))}))
        ORDER BY i.organization_id, i.id, e.id`,
    ),

    // An event that sets the usage requests nothing.
    uses: (after, until, limit) =>
      streamed(
        sql,
        Use,
        sql`
        SELECT ${names}, u.timestamp AS at, CASE u.behavior WHEN 'append' THEN greatest(u.value, 0) ELSE 0 END::text AS requested
        FROM usage_events u
        JOIN (${organizations}) o ON o.id = u.organization_id
        JOIN ${instancesSql.as("i")} ON i.organization_id = u.organization_id AND i.id = u.instance_id
        JOIN ${entitlementsSql.as("e")} ON e.organization_id = u.organization_id AND e.id = u.entitlement_id
        WHERE u.timestamp > ${after} AND u.timestamp <= ${until} AND u.voided_at IS NULL
        ORDER BY u.timestamp DESC, u.instance_id, u.entitlement_id, u.ordinal DESC LIMIT ${limit}`,
      ),
  })
})
