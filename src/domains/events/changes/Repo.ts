/** SQL of streams of changes: what is new in an organization stream. */
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer } from "effect"
import { decoded } from "../../../kernel/database/Statements.ts"
import { eventByKey } from "../log/PlacingSql.ts"
import { prunedTo } from "../log/PagesSql.ts"
import { ChangeEvent } from "./Model.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"

const PARTS = `type, data->>'id' AS record_id, data->>'slug' AS slug, data->>'instance' AS instance,
  data->>'instanceSlug' AS "instanceSlug", data->>'licenseSlug' AS "licenseSlug", data->>'combine' AS combine,
  data->>'deploymentZoneSlug' AS "deploymentZoneSlug", data->>'expiresAt' AS "expiresAt", data->>'revokedAt' AS "revokedAt"`

/** Reads events without their payloads. */
export class ChangesRepo extends Context.Service<
  ChangesRepo,
  {
    /** Reads events after a position, oldest first. */
    readonly readAfter: (
      organizationId: OrganizationId,
      position: number,
      count: number,
    ) => Effect.Effect<ReadonlyArray<ChangeEvent>>
  }
>()("keyshelf/events/ChangesRepo") {
  static readonly layer = Layer.effect(
    ChangesRepo,
    Effect.map(PgClient.PgClient, (sql) =>
      ChangesRepo.of({
        readAfter: (organizationId, position, count) =>
          decoded(ChangeEvent)(sql`
            SELECT event.type, placed.position::float8 AS position, event.record_id AS id, event.slug, event.instance,
              event."instanceSlug", event."licenseSlug", event.combine, event."deploymentZoneSlug", event."expiresAt", event."revokedAt"
            FROM event_positions placed CROSS JOIN ${eventByKey(sql, organizationId, PARTS, "placed.event_id")} AS event
            WHERE placed.organization_id = ${organizationId} AND placed.event_id IS NOT NULL
              AND placed.position > ${position} AND placed.position > ${prunedTo(sql, organizationId)}
            ORDER BY placed.position LIMIT ${count}`),
      }),
    ),
  )
}
