/** What a change would do to other records: the impact that a dry run shows. */
import { Context, Effect, Layer, Option, Predicate } from "effect"
import { mapInPieces } from "../../kernel/concurrency/Pieces.ts"
import type { ImpactKind } from "../../kernel/contract/dryruns/DryRun.ts"
import { affectedOf, namedTo } from "../../kernel/contract/dryruns/Impact.ts"
import type { DeletionImpact } from "../../kernel/contract/dryruns/Impact.ts"
import type {
  ConnectorImpact,
  InstanceDeletionImpact,
  LicenseImpact as LicenseImpactRecord,
  MetadataFieldImpact,
  RevocationImpact,
} from "../../kernel/contract/dryruns/ImpactModels.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Licenses } from "../licenses/Service.ts"
import { validate } from "../metadata/jsonschema/Validator.ts"
import type { Impact, Rehearsed } from "./Model.ts"
import { MigrationImpacts } from "../licensemoves/Impact.ts"
import { readPages } from "./Pages.ts"
import { ImpactRepo } from "./Repo.ts"
import type { StoredValue } from "./Repo.ts"
import { ChangingImpacts } from "./ChangingImpacts.ts"
import { ReleaseImpacts } from "./ReleaseImpacts.ts"

/** An impact that reads the state before the change only. */
const before =
  (impact: (change: Rehearsed) => Effect.Effect<object>): Impact =>
  (change) =>
    Effect.succeed(impact(change))

const noneBlocks: DeletionImpact = { blocking: [] }

/** Finds the impact of a change. */
export class Impacts extends Context.Service<
  Impacts,
  {
    /**
     * The impact of a change that was applied and will be rolled back. It reads the state after the change, and returns
     * the effect that reads the state before it.
     */
    readonly of: (kind: ImpactKind, change: Rehearsed) => Effect.Effect<Effect.Effect<object>>
  }
>()("keyshelf/impact/Impacts") {
  static readonly layer = Layer.suspend(() => Layer.effect(Impacts, make))
}

const licenseImpact = Effect.gen(function* () {
  const repo = yield* ImpactRepo
  const licenses = yield* Licenses

  const family = Effect.fnUntraced(function* (organizationId: OrganizationId, familySlug: string) {
    const current = yield* licenses.resolve(organizationId, { licenseFamilySlug: familySlug })
    return {
      current: Option.match(current, { onNone: () => null, onSome: ({ slug }) => slug }),
      default: yield* repo.defaultOf(organizationId, familySlug),
    }
  })

  const license: Impact = Effect.fnUntraced(function* ({ caller, events, params }) {
    const { organizationId } = caller
    // Each of these changes emits an event with the version. A deletion leaves nothing else.
    const slug = events.map(({ data }) => data["familySlug"]).find(Predicate.isString) ?? ""
    const after = yield* family(organizationId, slug)
    return Effect.gen(function* () {
      const earlier = yield* family(organizationId, slug)
      const instances = yield* repo.instancesOn(organizationId, params["licenseSlug"] ?? "", yield* now)
      const impact: LicenseImpactRecord = {
        instances: namedTo(caller, instances),
        familyResolvesTo: { before: earlier.current, after: after.current },
        losesDefault: earlier.default === after.default ? null : earlier.default,
      }
      return impact
    })
  })

  return license
})

const metadataFieldImpact = Effect.gen(function* () {
  const repo = yield* ImpactRepo
  const metadataField: Impact = Effect.fnUntraced(function* ({ caller, params }) {
    const found = yield* repo.decidingField(caller.organizationId, params["metadataFieldId"] ?? "")
    if (Option.isNone(found)) return Effect.succeed({ invalid: affectedOf([]) })
    const field = found.value
    const isRejected = ({ value }: StoredValue) => field.isArchived || validate(field.jsonSchema, value).length > 0
    const { found: invalid, isComplete } = yield* readPages(
      (last: StoredValue | undefined, count) => repo.valuesOf(caller.organizationId, field, last?.id ?? null, count),
      (page) =>
        Effect.map(mapInPieces(page, isRejected), (rejected) => page.filter((_, position) => rejected[position])),
    )
    const shown = affectedOf(
      invalid.map(({ customer, slug }) => (customer === undefined ? { slug } : { slug, customer })),
      isComplete,
    )
    const impact: MetadataFieldImpact = {
      invalid: field.resourceType === "INSTANCE" ? namedTo(caller, shown) : shown,
    }
    return Effect.succeed(impact)
  })

  return metadataField
})

const make = Effect.gen(function* () {
  const repo = yield* ImpactRepo
  const migrations = yield* MigrationImpacts
  const { access, deployment } = yield* ReleaseImpacts
  const { addOn, credit, grant, instance } = yield* ChangingImpacts

  const licenseMigration: Impact = Effect.fnUntraced(function* ({ body, caller }) {
    const id = Predicate.hasProperty(body, "id") ? String(body.id) : ""
    return Effect.succeed(yield* migrations.of(caller, id))
  })

  const instanceDeletion = before(
    Effect.fnUntraced(function* ({ caller, params }) {
      const { instanceSlug = "" } = params
      const at = yield* now
      const impact: InstanceDeletionImpact = {
        usageEvents: yield* repo.usageEventsOf(caller.organizationId, instanceSlug),
        reservations: yield* repo.reservationsOf(caller.organizationId, instanceSlug, at),
        bundles: yield* repo.bundlesInForce(caller.organizationId, instanceSlug, null, at),
      }
      return impact
    }),
  )

  const connector = before(
    Effect.fnUntraced(function* ({ caller, params }) {
      const found = yield* repo.integrationRecordsOf(caller.organizationId, params["connectorName"] ?? "")
      const impact: ConnectorImpact = { integrationRecords: namedTo(caller, found) }
      return impact
    }),
  )

  const revocation = before(
    Effect.fnUntraced(function* ({ caller, params }) {
      const { bundleId = "", instanceSlug = "" } = params
      const impact: RevocationImpact = {
        bundles: yield* repo.bundlesInForce(caller.organizationId, instanceSlug, bundleId, yield* now),
      }
      return impact
    }),
  )

  const impacts: Readonly<Record<ImpactKind, Impact>> = {
    license: yield* licenseImpact,
    "license-migration": licenseMigration,
    grant,
    instance,
    "add-on": addOn,
    credit,
    "instance-deletion": instanceDeletion,
    // Records that block a deletion reject it, with their problem.
    deletion: () => Effect.succeed(Effect.succeed(noneBlocks)),
    "metadata-field": yield* metadataFieldImpact,
    connector,
    revocation,
    "release-access": access,
    deployment,
  }

  return { of: (kind: ImpactKind, change: Rehearsed) => impacts[kind](change) }
})
