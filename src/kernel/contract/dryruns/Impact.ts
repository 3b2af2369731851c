/** The impact of a change on other records, as dry runs and rejected deletions report it. */
import { Schema } from "effect"
import type { Caller } from "../Caller.ts"
import { component } from "../Component.ts"
import { allows } from "../Scope.ts"
import { Amount } from "../../values/Decimal.ts"

/** The maximum number of items that are listed. */
export const MAX_SHOWN = 100

/** The maximum count. */
export const MAX_COUNTED = 10_000

/** Records that a change concerns. */
export interface Affected<Item> {
  /** At most {@link MAX_COUNTED}. */
  readonly count: number
  /** Whether there are more. */
  readonly truncated: boolean
  /** The first {@link MAX_SHOWN}; none if the caller may not read them. */
  readonly items: ReadonlyArray<Item>
}

/** The schema of {@link Affected} records. */
export const affectedSchema = <S extends Schema.Top>(name: string, items: S, description: string) =>
  Schema.Struct({
    count: Schema.Int.annotate({ description: "How many there are, at most 10,000" }),
    truncated: Schema.Boolean.annotate({ description: "Whether there are more than were counted" }),
    items: Schema.Array(items).annotate({
      description: "The first 100. Instances are named only with the scope `read:instances`",
    }),
  }).annotate({ ...component(name, { count: 1, truncated: false }), description })

/** The records to show. `isComplete` is false if there may be more than were found. */
export const affectedOf = <Item>(found: ReadonlyArray<Item>, isComplete = true): Affected<Item> => ({
  count: Math.min(found.length, MAX_COUNTED),
  truncated: !isComplete || found.length > MAX_COUNTED,
  items: found.slice(0, MAX_SHOWN),
})

/** Without the names of instances if the caller may not read them. */
export const namedTo = <Item>({ scopes }: Caller["Service"], affected: Affected<Item>): Affected<Item> =>
  allows(scopes, "read:instances") ? affected : { ...affected, items: [] }

/** An instance by its slug, and its customer. */
export const AffectedInstance = Schema.Struct({ slug: Schema.String, customer: Schema.String }).annotate(
  component("AffectedInstance", { slug: "globex-production", customer: "globex" }),
)
export type AffectedInstance = typeof AffectedInstance.Type

const figure = Schema.NullOr(Amount)

/** The reason of a decision before and after a change. */
export const ChangingReason = Schema.Struct({ before: Schema.String, after: Schema.String }).annotate(
  component("ChangingReason", { before: "GRANTED", after: "LIMIT_REACHED" }),
)

/** A check that would be allowed instead of denied, or denied instead of allowed. */
export const ChangingCheck = Schema.Struct({
  slug: Schema.String.annotate({ description: "Slug of the instance" }),
  entitlement: Schema.String.annotate({ description: "Slug of the entitlement" }),
  usage: figure,
  limit: figure.annotate({ description: "The limit afterwards; `null` if nothing is granted" }),
  reason: ChangingReason,
}).annotate(component("ChangingCheck", { slug: "globex-production", entitlement: "api-calls", usage: 800, limit: 500 }))
export type ChangingCheck = typeof ChangingCheck.Type

/** The checks of instances that would turn. */
export const ChangingChecks = affectedSchema(
  "ChangingChecks",
  ChangingCheck,
  "Entitlements of these instances whose checks (`requested: 0`) would be allowed instead of denied, or denied instead of allowed",
)

/** An instance that may not have the release of a deployment. */
const NotAllowedInstance = Schema.Struct({
  slug: Schema.String.annotate({ description: "Slug of the instance" }),
  reason: Schema.String.annotate({ description: "Why it may not have the release" }),
}).annotate(component("NotAllowedInstance", { slug: "globex-production", reason: "AFTER_MAINTENANCE" }))

/** What a deployment does against the policy of an offered release. */
export const DeploymentImpact = Schema.Struct({
  notAllowed: affectedSchema(
    "NotAllowedInstances",
    NotAllowedInstance,
    "The instances of the zone that may not have the release. None if the release is not offered",
  ),
}).annotate(component("DeploymentImpact"))
export type DeploymentImpact = typeof DeploymentImpact.Type

/** Records of one kind that block a deletion. */
export const Blocking = Schema.Struct({
  kind: Schema.Literals([
    "instances",
    "licenses",
    "overrides",
    "usage",
    "credits",
    "releases",
    "deploymentZones",
  ]).annotate({
    ...component("BlockingKind", "instances"),
    description: "`overrides`, `usage` and `credits` name the instances that have them",
  }),
  count: Schema.Int.annotate({ description: "How many there are, at most 10,000" }),
  truncated: Schema.Boolean.annotate({ description: "Whether there are more than were counted" }),
  items: Schema.Array(
    Schema.Struct({
      slug: Schema.String,
      customer: Schema.optionalKey(Schema.String).annotate({ description: "Of an instance: the slug of its customer" }),
    }).annotate(component("BlockingRecord", { slug: "globex-production", customer: "globex" })),
  ).annotate({ description: "The first 100. Instances are named only with the scope `read:instances`" }),
}).annotate(component("Blocking", { count: 1, truncated: false }))
export type Blocking = typeof Blocking.Type

/** What blocks a deletion. A blocked deletion is rejected, with this in the problem. */
export const DeletionImpact = Schema.Struct({
  blocking: Schema.Array(Blocking).annotate({ description: "What stands against the deletion" }),
}).annotate(component("DeletionImpact"))
export type DeletionImpact = typeof DeletionImpact.Type
