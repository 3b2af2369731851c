/** License migrations: moves of many instances to another license version. */
import { Schema } from "effect"
import { ActorReference } from "../../kernel/contract/Caller.ts"
import { component } from "../../kernel/contract/Component.ts"
import { AffectedInstance, affectedSchema, ChangingChecks } from "../../kernel/contract/dryruns/Impact.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { Timestamp, TimestampInput } from "../../kernel/values/Timestamp.ts"

/** The states of a migration. `DONE` can be reverted; `REVERTED` and `CANCELLED` are final. */
const migrationStates = ["SCHEDULED", "RUNNING", "DONE", "REVERTING", "REVERTED", "CANCELLED"] as const

const count = (description: string) => Schema.Int.annotate({ description })

export const LicenseMigration = Schema.Struct({
  id: Uuid,
  from: Schema.String.annotate({ description: "Slug of the license version that instances leave" }),
  to: Schema.String.annotate({ description: "Slug of the license version that they get" }),
  state: Schema.Literals(migrationStates).annotate(component("LicenseMigrationState", "DONE")),
  at: Timestamp.annotate({ description: "When it starts" }),
  counts: Schema.Struct({
    total: count("Instances that it concerns; until it is done, those it concerned when it was requested"),
    moved: count("Instances that were moved"),
    skipped: count("Named instances that do not exist or have another license or customer"),
    failed: count("Instances that could not be moved, because the license version cannot be assigned any more"),
  }).annotate(component("LicenseMigrationCounts", { total: 142, moved: 140, skipped: 2, failed: 0 })),
  createdAt: Timestamp,
  createdBy: ActorReference,
  finishedAt: Schema.NullOr(Timestamp).annotate({ description: "When the last instance was moved" }),
}).annotate(component("LicenseMigration", { from: "pro", to: "pro-v2", finishedAt: "2026-01-31T09:01:00.000Z" }))
export type LicenseMigration = typeof LicenseMigration.Type

const MAX_NAMED = 10_000

/** Body of `POST /licenses/{licenseSlug}/migrations`. */
export const MigrateLicense = Schema.Struct({
  toLicenseSlug: Schema.optionalKey(PathName).annotate({ description: "Slug of a license version" }),
  toLicenseFamilySlug: Schema.optionalKey(PathName).annotate({
    description: "Slug of a license family; resolves to its current version",
  }),
  instances: Schema.optionalKey(
    Schema.Array(PathName).check(
      Schema.isBetweenLength(1, MAX_NAMED, { expected: `1 to ${MAX_NAMED} slugs of instances` }),
    ),
  ).annotate({ description: "Only these instances" }),
  customer: Schema.optionalKey(PathName).annotate({ description: "Only instances of the customer with this slug" }),
  at: Schema.optionalKey(TimestampInput).annotate({ description: "When to start; default now" }),
}).annotate(component("MigrateLicense"))
export type MigrateLicense = typeof MigrateLicense.Type

const itemStates = ["MOVED", "SKIPPED", "FAILED", "REVERTED", "KEPT"] as const

/** The result for one instance. */
export const LicenseMigrationItem = Schema.Struct({
  instance: Schema.String.annotate({ description: "Slug of the instance" }),
  state: Schema.Literals(itemStates).annotate({
    ...component("LicenseMigrationItemState", "MOVED"),
    description: "`KEPT`: a revert left it where it is, because it was moved elsewhere since",
  }),
  code: Schema.NullOr(Schema.String).annotate({ description: "Why it was not moved, or not moved back" }),
}).annotate(component("LicenseMigrationItem", { instance: "globex-production", code: null }))
export type LicenseMigrationItem = typeof LicenseMigrationItem.Type

/** The impact of a migration. */
export const MigrationImpact = Schema.Struct({
  instances: affectedSchema("AffectedInstances", AffectedInstance, "Instances that would be moved"),
  turning: ChangingChecks,
}).annotate(component("MigrationImpact"))
export type MigrationImpact = typeof MigrationImpact.Type
