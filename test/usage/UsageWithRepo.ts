/** The checks outside the service, with a cache of their own, on a repository that a test observes or breaks. */
import { Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { bySystem, Caller } from "../../src/kernel/contract/Caller.ts"
import type { OrganizationId } from "../../src/kernel/values/Identifiers.ts"
import { hotPath } from "../../src/infra/database/DedicatedConnections.ts"
import { CheckBatchRepo } from "../../src/domains/usage/check/hotpath/Repo.ts"
import { PastRepo } from "../../src/domains/usage/check/PastRepo.ts"
import { CheckRepo } from "../../src/domains/usage/check/Repo.ts"
import { Checks } from "../../src/domains/usage/check/Service.ts"
import { testSql } from "../support/TestDatabase.ts"

type Repo = CheckBatchRepo["Service"]

/** Checks on a repository with replaced statements. */
export const usageWithRepo = (changed: (repo: Repo) => Partial<Repo>) => {
  const changedRepo = Layer.effect(
    CheckBatchRepo,
    Effect.map(CheckBatchRepo, (repo) => CheckBatchRepo.of({ ...repo, ...changed(repo) })),
  )
  return Layer.fresh(Checks.layer).pipe(
    Layer.provide([changedRepo, CheckRepo.layer, PastRepo.layer]),
    Layer.provide(Layer.provide(CheckBatchRepo.layer, hotPath)),
    Layer.provide(testSql),
  )
}

/** A check by a caller of the organization. */
export const checkAs = (organizationId: OrganizationId, instance: string, slugs: ReadonlyArray<string>) =>
  Effect.flatMap(Checks, (usage) =>
    usage.check(instance, { checks: slugs.map((entitlement) => ({ entitlement })) }),
  ).pipe(Effect.provideService(Caller, { organizationId, credentialId: randomUUID(), ...bySystem, scopes: [] }))
