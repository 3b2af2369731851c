/** Use cases of deployment zones. */
import { Context, Effect, Layer } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { DeletionBlockers } from "../../kernel/ports/DeletionBlockers.ts"
import { Events } from "../events/Service.ts"
import { creation } from "./Creation.ts"
import { DeleteDeploymentZoneInUse } from "./Errors.ts"
import type {
  CreateDeploymentZoneSlugTaken,
  DeploymentZoneNotFound,
  UpdateDeploymentZoneReleaseNotAllowed,
} from "./Errors.ts"
import { lookup } from "./Lookup.ts"
import type { CreateDeploymentZone, Deployment, DeploymentZone, UpdateDeploymentZone, ZoneFilters } from "./Model.ts"
import { DeploymentZonesRepo } from "./Repo.ts"
import { updating } from "./Update.ts"

/** Manages deployment zones of the caller's organization. */
export class DeploymentZones extends Context.Service<
  DeploymentZones,
  {
    /**
     * Creates a zone, and deploys the release that the body names. The slug is made from the name if the body has none.
     */
    readonly create: (
      input: CreateDeploymentZone,
    ) => Effect.Effect<DeploymentZone, ValidationFailed | CreateDeploymentZoneSlugTaken, Caller>
    /** A zone with the release that it runs. */
    readonly get: (slug: string) => Effect.Effect<DeploymentZone, DeploymentZoneNotFound, Caller>
    /** A page of the zones that match all filters, newest first. */
    readonly list: (request: PageRequest & ZoneFilters) => Effect.Effect<Page<DeploymentZone>, InvalidCursor, Caller>
    /**
     * Changes the properties that the body has. Another release is deployed, and joins the history of the zone, unless the zone refuses
     * releases that its instances may not have.
     */
    readonly update: (
      slug: string,
      input: UpdateDeploymentZone,
    ) => Effect.Effect<void, ValidationFailed | DeploymentZoneNotFound | UpdateDeploymentZoneReleaseNotAllowed, Caller>
    /** Deletes a zone that no instance uses, with its history. */
    readonly delete: (slug: string) => Effect.Effect<void, DeploymentZoneNotFound | DeleteDeploymentZoneInUse, Caller>
    /** A page of the releases that were deployed to a zone, newest first. */
    readonly listDeployments: (
      slug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<Deployment>, InvalidCursor | DeploymentZoneNotFound, Caller>
  }
>()("keyshelf/zones/DeploymentZones") {
  static readonly layer = Layer.suspend(() => Layer.effect(DeploymentZones, make))
}

const make = Effect.gen(function* () {
  const repo = yield* DeploymentZonesRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const blockers = yield* DeletionBlockers
  const zones = yield* lookup

  const get = Effect.fn("DeploymentZones.get")(function* (slug: string) {
    const { organizationId } = yield* Caller
    return yield* zones.find(organizationId, slug)
  })

  const list = Effect.fn("DeploymentZones.list")(function* (request: PageRequest & ZoneFilters) {
    const { organizationId } = yield* Caller
    const filters = filtersOf(request)
    return yield* cursors.page(
      { name: "deployment-zones", organizationId, filters },
      request,
      (after, count) => repo.list(organizationId, filters, after, count),
      byId,
    )
  })

  const remove = Effect.fn("DeploymentZones.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const zone = yield* zones.lock(caller.organizationId, slug)
        const blocking = yield* blockers.find("deploymentZone", zone)
        if (blocking.length > 0) {
          return yield* new DeleteDeploymentZoneInUse({
            impact: { blocking },
            detail: `An instance uses the deployment zone "${slug}". Move its instances to another zone first.`,
          })
        }
        yield* repo.delete(caller.organizationId, zone.id)
        yield* events.emit(caller, "DEPLOYMENT_ZONE_DELETED", zone)
      }),
    )
  })

  const listDeployments = Effect.fn("DeploymentZones.listDeployments")(function* (slug: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    const zone = yield* zones.find(organizationId, slug)
    return yield* cursors.page(
      { name: `deployment-zones/${zone.id}/deployments`, organizationId },
      request,
      (after, count) => repo.listDeployments(organizationId, zone.id, after, count),
      byId,
    )
  })

  return { create: yield* creation, get, list, update: yield* updating, delete: remove, listDeployments }
})
