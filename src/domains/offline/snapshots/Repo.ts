/** SQL of snapshots. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schema } from "effect"
import type { Option } from "effect"
import { decodedOne } from "../../../kernel/database/Statements.ts"
import { InstanceSubject } from "../../instances/Model.ts"
import { subjects } from "../../instances/SubjectSql.ts"
import { Away } from "../../licenses/Model.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { IssuedBundles } from "./Rules.ts"

/** An instance, its license's answer for a product that is away, and the numbers of its bundles. */
const SnapshotSubject = Schema.Struct({ ...InstanceSubject.fields, ...IssuedBundles.fields, away: Away })
type SnapshotSubject = typeof SnapshotSubject.Type

/** Reads what snapshots say beside grants and flags. */
export class SnapshotsRepo extends Context.Service<
  SnapshotsRepo,
  {
    /**
     * The instance with a slug. A newest bundle that is revoked or no longer stored is void: a product may know that, and would
     * reject its number.
     */
    readonly findSubject: (
      organizationId: OrganizationId,
      instanceSlug: string,
    ) => Effect.Effect<Option.Option<SnapshotSubject>>
  }
>()("keyshelf/offline/snapshots/Repo") {
  static readonly layer = Layer.effect(
    SnapshotsRepo,
    Effect.map(PgClient.PgClient, (sql) =>
      SnapshotsRepo.of({
        findSubject: (organizationId, instanceSlug) =>
          decodedOne(SnapshotSubject)(sql`
            ${subjects(
              sql,
              sql`, json_build_object('staleSeconds', l.away_stale_seconds, 'then', l.away_then) AS away,
                i.offline_sequence AS issued, CASE WHEN EXISTS (
                  SELECT 1 FROM offline_bundles newest
                  WHERE newest.organization_id = ${organizationId} AND newest.instance_id = i.id
                    AND newest.sequence = i.offline_sequence AND newest.revoked_at IS NULL
                ) THEN 0 ELSE i.offline_sequence END AS voided`,
            )}
            WHERE i.organization_id = ${organizationId} AND i.slug = ${instanceSlug}`),
      }),
    ),
  )
}
