/** The layer of instances. */
import { Effect, Layer } from "effect"
import { blocks } from "../../kernel/ports/DeletionBlockers.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { LicensedInstances } from "../licenses/LicensedInstances.ts"
import { AddOnsRepo } from "./addons/Repo.ts"
import { AddOnMoves } from "./addons/Moves.ts"
import { AddOns } from "./addons/Service.ts"
import { InstanceDeletions } from "./Deletions.ts"
import { DependentsRepo } from "./DependentsRepo.ts"
import { OverridesRepo } from "./overrides/Repo.ts"
import * as Followers from "./following/Followers.ts"
import { LicenseKeys } from "./keys/Service.ts"
import { Overrides } from "./overrides/Service.ts"
import { LicenseMoves } from "./LicenseMoves.ts"
import { InstancesRepo } from "./Repo.ts"
import { Instances } from "./Service.ts"
import { TermsRepo } from "./terms/Repo.ts"
import { InstanceExtras } from "./addons/Extras.ts"
import { TermNotices } from "./terms/Service.ts"

const instancesWith = (column: "customer_id" | "deployment_zone_id") =>
  Effect.map(DependentsRepo, (repo) => repo.with(column))

const blockers = Layer.mergeAll(
  blocks("customer", "instances", instancesWith("customer_id")),
  blocks("deploymentZone", "instances", instancesWith("deployment_zone_id")),
  blocks(
    "license",
    "instances",
    Effect.map(
      DependentsRepo,
      ({ licensed }) =>
        (organizationId, license) =>
          Effect.flatMap(now, (at) => licensed(organizationId, license, at)),
    ),
  ),
  blocks(
    "entitlement",
    "overrides",
    Effect.map(
      DependentsRepo,
      ({ overriding }) =>
        (organizationId, entitlement) =>
          Effect.flatMap(now, (at) => overriding(organizationId, entitlement, at)),
    ),
  ),
)

/** What this domain provides to earlier ones. */
export const ports = Layer.effect(LicensedInstances, DependentsRepo).pipe(Layer.provide(DependentsRepo.layer))

/** The services of this domain. `app/Services.ts` provides the repository that depends on the kind of database. */
export const layer = Layer.mergeAll(
  AddOns.layer,
  AddOnMoves.layer,
  LicenseKeys.layer,
  LicenseMoves.layer,
  Overrides.layer,
  TermNotices.layer,
  InstanceExtras.layer,
  blockers.pipe(Layer.provide(DependentsRepo.layer)),
).pipe(
  Layer.provideMerge(Instances.layer),
  Layer.provideMerge(Layer.mergeAll(AddOnsRepo.layer, InstanceDeletions.layer, OverridesRepo.layer, TermsRepo.layer)),
)

/** What streams of changes need to know of the records of this domain and those before it. */
export const followers = Followers.layer

/** The repositories of this domain whose statements depend on the kind of database, for one server. */
export const repositories = InstancesRepo.layer
