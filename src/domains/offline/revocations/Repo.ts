/** SQL of revocations and of the numbers of their lists. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import { isRemoved } from "../../../kernel/database/RemovedOrganizations.ts"
import { decoded, decodedOne, executed } from "../../../kernel/database/Statements.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { Revocation } from "./Model.ts"
import type { Option } from "effect"

const ListNumber = Schema.Struct({ number: Schema.Int })
const Kid = Schema.Struct({ kid: Schema.String })

/** Stores and reads revocations. */
export class RevocationsRepo extends Context.Service<
  RevocationsRepo,
  {
    /** Begins the list of an organization, unless it has one. */
    readonly begin: (organizationId: OrganizationId) => Effect.Effect<void>
    /** Adds a revocation, or raises the one of the instance. `until`: the full hour from which on it is not needed. */
    readonly add: (
      organizationId: OrganizationId,
      revocation: Revocation & { readonly until: Date },
    ) => Effect.Effect<void>
    /** Raises the number of the list, which locks the list until the transaction ends. */
    readonly raiseNumber: (organizationId: OrganizationId) => Effect.Effect<void>
    /** The number of the list; none if no bundle was ever issued, or the organization is removed. */
    readonly findNumber: (organizationId: OrganizationId) => Effect.Effect<Option.Option<{ readonly number: number }>>
    /** The revocations that are needed after this full hour. */
    readonly findAfter: (organizationId: OrganizationId, hour: Date) => Effect.Effect<ReadonlyArray<Revocation>>
    /** Those of these keys that have signed a bundle that has not expired. */
    readonly findKeysInUse: (
      organizationId: OrganizationId,
      kids: ReadonlyArray<string>,
      at: Date,
    ) => Effect.Effect<ReadonlyArray<{ readonly kid: string }>>
  }
>()("keyshelf/offline/revocations/Repo") {
  static readonly layer = Layer.suspend(() => Layer.effect(RevocationsRepo, make))
}

const make = Effect.gen(function* () {
  const sql = yield* PgClient.PgClient

  return RevocationsRepo.of({
    begin: (organizationId) =>
      executed(sql`
        INSERT INTO offline_lists (organization_id, number) VALUES (${organizationId}, 1)
        ON CONFLICT (organization_id) DO NOTHING`),

    add: (organizationId, revocation) =>
      executed(sql`
        INSERT INTO offline_revocations AS stored (organization_id, instance_id, sequence, revoked_at, until)
        VALUES (${organizationId}, ${revocation.instanceId}, ${revocation.sequence}, ${revocation.revokedAt},
          ${revocation.until})
        ON CONFLICT (organization_id, instance_id) DO UPDATE SET sequence = excluded.sequence,
          revoked_at = excluded.revoked_at, until = greatest(stored.until, excluded.until)
        WHERE stored.sequence < excluded.sequence`),

    raiseNumber: (organizationId) =>
      executed(sql`UPDATE offline_lists SET number = number + 1 WHERE organization_id = ${organizationId}`),

    findNumber: (organizationId) =>
      decodedOne(ListNumber)(sql`
        SELECT number::float8 AS number FROM offline_lists
        WHERE organization_id = ${organizationId} AND NOT ${sql.literal(isRemoved("offline_lists.organization_id"))}`),

    findAfter: (organizationId, hour) =>
      decoded(Revocation)(sql`
        SELECT instance_id AS "instanceId", sequence, revoked_at AS "revokedAt" FROM offline_revocations
        WHERE organization_id = ${organizationId} AND until > ${hour} ORDER BY instance_id`),

    findKeysInUse: (organizationId, kids, at) =>
      decoded(Kid)(sql`
        SELECT asked.kid FROM unnest(${kids}::text[]) AS asked (kid)
        CROSS JOIN LATERAL (
          SELECT 1 FROM offline_bundles bundle
          WHERE bundle.organization_id = ${organizationId} AND bundle.kid = asked.kid AND bundle.expires_at > ${at}
          LIMIT 1
        ) in_use`),
  })
})
