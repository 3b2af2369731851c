/** Use cases of deployment zones. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import type { EventSource } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { namedTo } from "../../kernel/contract/dryruns/Impact.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import { byId, Cursors, filtersOf } from "../../kernel/contract/Page.ts"
import type { PageRequest } from "../../kernel/contract/Page.ts"
import { invalid, noSuch } from "../../kernel/contract/Problem.ts"
import { slugify, insertWithFreeSlug } from "../../kernel/values/Slug.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { MetadataValues } from "../metadata/MetadataValues.ts"
import { CreateDeploymentZoneSlugTaken, DeleteDeploymentZoneInUse, DeploymentZoneNotFound } from "./Errors.ts"
import { UpdateDeploymentZone } from "./Model.ts"
import type { CreateDeploymentZone, Deployment, DeploymentZone, ZoneFilters } from "./Model.ts"
import { DeploymentZonesRepo } from "./Repo.ts"
import type { ValidationFailed, InvalidCursor } from "../../kernel/contract/Problem.ts"
import type { Page } from "../../kernel/contract/Page.ts"

const notFound = (slug: string) => new DeploymentZoneNotFound({ detail: noSuch("deployment zone", slug) })

/** Manages deployment zones of the caller's organization. */
export class DeploymentZones extends Context.Service<
  DeploymentZones,
  {
    /** ??? */
    readonly create: (
      input: CreateDeploymentZone,
    ) => Effect.Effect<DeploymentZone, ValidationFailed | CreateDeploymentZoneSlugTaken, Caller>
    /** ??? */
    readonly get: (slug: string) => Effect.Effect<DeploymentZone, DeploymentZoneNotFound, Caller>
    /** ??? */
    readonly list: (request: PageRequest & ZoneFilters) => Effect.Effect<Page<DeploymentZone>, InvalidCursor, Caller>
    /** ??? */
    readonly update: (
      slug: string,
      input: UpdateDeploymentZone,
    ) => Effect.Effect<void, ValidationFailed | DeploymentZoneNotFound, Caller>
    /** ??? */
    readonly delete: (slug: string) => Effect.Effect<void, DeploymentZoneNotFound | DeleteDeploymentZoneInUse, Caller>
    /** ??? */
    readonly listDeployments: (
      slug: string,
      request: PageRequest,
    ) => Effect.Effect<Page<Deployment>, InvalidCursor | DeploymentZoneNotFound, Caller>
  }
>()("keyshelf/zones/DeploymentZones") {
  static readonly layer = Layer.effect(
    DeploymentZones,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const repo = yield* DeploymentZonesRepo
  const metadataValues = yield* MetadataValues
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions

  /** The release that the body names. It cannot be deleted before the transaction ends. */
  const holdRelease = Effect.fnUntraced(function* (organizationId: string, id: string) {
    const release = yield* repo.lockRelease(organizationId, id)
    return Option.isSome(release)
      ? release.value
      : yield* invalid("body.releaseId", "must be the id of an existing release", id)
  })

  /**
   * Adds an entry to the zone's history. The id is generated while the zone is locked: the newest entry is always the
   * release that the zone runs.
   */
  const recordDeployment = Effect.fnUntraced(function* (
    source: EventSource,
    zone: DeploymentZone,
    release: { readonly id: string; readonly slug: string; readonly version: string },
  ) {
    const deployment: Deployment = {
      id: yield* newId,
      releaseId: release.id,
      releaseSlug: release.slug,
      releaseVersion: release.version,
      deployedAt: zone.updatedAt,
      deployedBy: source.actor,
    }
    yield* repo.insertDeployment(source.organizationId, zone.id, deployment)
    yield* events.emit(source, "RELEASE_DEPLOYED", {
      ...deployment,
      deploymentZoneId: zone.id,
      deploymentZoneSlug: zone.slug,
    })
  })

  const create = Effect.fn("DeploymentZones.create")(function* (input: CreateDeploymentZone) {
    const caller = yield* Caller
    const at = yield* now
    const zone = {
      id: yield* newId,
      name: input.name,
      description: input.description ?? null,
      type: input.type,
      metadata: input.metadata ?? {},
      createdAt: at,
      updatedAt: at,
      createdBy: caller.actor,
      updatedBy: caller.actor,
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        yield* metadataValues.check(caller.organizationId, "DEPLOYMENT_ZONE", {}, zone.metadata)
        const release = input.releaseId == null ? undefined : yield* holdRelease(caller.organizationId, input.releaseId)
        const unnamed = { ...zone, releaseId: release?.id ?? null }
        const slug = yield* insertWithFreeSlug({
          explicit: input.slug,
          suggested: slugify(input.name, "deployment-zone"),
          insert: (slug) => repo.insert(caller.organizationId, { ...unnamed, slug }),
          taken: (slug) =>
            new CreateDeploymentZoneSlugTaken({
              detail: `Another deployment zone has the slug "${slug}". Choose a different slug.`,
            }),
        })
        const record: DeploymentZone = { ...unnamed, slug }
        yield* events.emit(caller, "DEPLOYMENT_ZONE_CREATED", record)
        if (release !== undefined) yield* recordDeployment(caller, record, release)
        return record
      }),
    )
  })

  const find = Effect.fnUntraced(function* (organizationId: string, slug: string) {
    const zone = yield* repo.findBySlug(organizationId, slug)
    return Option.isSome(zone) ? zone.value : yield* notFound(slug)
  })

  const get = Effect.fn("DeploymentZones.get")(function* (slug: string) {
    const { organizationId } = yield* Caller
    return yield* find(organizationId, slug)
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

  const update = Effect.fn("DeploymentZones.update")(function* (slug: string, input: UpdateDeploymentZone) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const locked = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(locked)) return yield* notFound(slug)
        const current = locked.value
        yield* requireUnchanged(UpdateDeploymentZone, current, input)
        const metadata = input.metadata === undefined ? current.metadata : (input.metadata ?? {})
        yield* metadataValues.check(caller.organizationId, "DEPLOYMENT_ZONE", current.metadata, metadata)
        const releaseId = input.releaseId === undefined ? current.releaseId : (input.releaseId?.toLowerCase() ?? null)
        const next =
          releaseId === null || releaseId === current.releaseId
            ? undefined
            : yield* holdRelease(caller.organizationId, releaseId)
        const updated: DeploymentZone = {
          ...current,
          name: input.name ?? current.name,
          description: input.description === undefined ? current.description : input.description,
          type: input.type ?? current.type,
          metadata,
          releaseId,
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* repo.update(caller.organizationId, updated)
        yield* events.emitChange(caller, "DEPLOYMENT_ZONE_UPDATED", current, updated)
        if (next !== undefined) yield* recordDeployment(caller, updated, next)
      }),
    )
  })

  const remove = Effect.fn("DeploymentZones.delete")(function* (slug: string) {
    const caller = yield* Caller
    yield* transactions.run(
      Effect.gen(function* () {
        const zone = yield* repo.lockBySlug(caller.organizationId, slug)
        if (Option.isNone(zone)) return yield* notFound(slug)
        const instances = yield* repo.instancesIn(caller.organizationId, zone.value.id)
        if (instances.count > 0) {
          return yield* new DeleteDeploymentZoneInUse({
            impact: { blocking: [{ kind: "instances", ...namedTo(caller, instances) }] },
            detail: `An instance uses the deployment zone "${slug}". Move its instances to another zone first.`,
          })
        }
        yield* repo.delete(caller.organizationId, zone.value.id)
        yield* events.emit(caller, "DEPLOYMENT_ZONE_DELETED", zone.value)
      }),
    )
  })

  const listDeployments = Effect.fn("DeploymentZones.listDeployments")(function* (slug: string, request: PageRequest) {
    const { organizationId } = yield* Caller
    const zone = yield* find(organizationId, slug)
    return yield* cursors.page(
      { name: `deployment-zones/${zone.id}/deployments`, organizationId },
      request,
      (after, count) => repo.listDeployments(organizationId, zone.id, after, count),
      byId,
    )
  })

  return { create, get, list, update, delete: remove, listDeployments }
})
