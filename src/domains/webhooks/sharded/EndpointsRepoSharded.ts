/** {@link EndpointsRepo} on Citus, where a statement that locks or joins asks the shard of one organization. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { inEachOrganization } from "../../../kernel/database/DueOrganizations.ts"
import { decoded } from "../../../kernel/database/Statements.ts"
import { EndpointsRepo } from "../endpoints/Repo.ts"
import { EndpointKey } from "../Model.ts"

export const layer = Layer.effect(
  EndpointsRepo,
  Effect.gen(function* () {
    const sql = yield* PgClient.PgClient
    const repo = yield* EndpointsRepo
    return EndpointsRepo.of({
      ...repo,
      // In one order, so that two transactions do not wait for each other.
      findSubscribers: (organizationIds) =>
        inEachOrganization(
          [...new Set(organizationIds)].toSorted(),
          (organizationId) => organizationId,
          (organizationId) => repo.findSubscribers([organizationId]),
        ),
      findFailingSince: (endpoints, since) =>
        inEachOrganization(
          endpoints,
          ({ organizationId }) => organizationId,
          (organizationId, own) =>
            decoded(EndpointKey)(sql`
              SELECT organization_id AS "organizationId", id AS "endpointId" FROM webhook_endpoints
              WHERE organization_id = ${organizationId} AND id = ANY(${own.map(({ endpointId }) => endpointId)}::uuid[])
                AND failing_since <= ${since} AND disabled_at IS NULL AND paused_at IS NULL`),
        ),
    })
  }),
).pipe(Layer.provide(EndpointsRepo.layer))
