/** Validates the metadata of zones and instances on writes. */
import { Context, Effect, Layer } from "effect"
import { failWithErrors } from "../../kernel/contract/Problem.ts"
import type { ValidationFailed } from "../../kernel/contract/Problem.ts"
import { Transaction } from "../../kernel/database/Transactions.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import type { ResourceType } from "./Model.ts"
import { MetadataFieldsRepo } from "./Repo.ts"
import { isEqualJson, metadataErrors } from "./ValueRules.ts"

type Metadata = Readonly<Record<string, unknown>>

/** Validates metadata against the fields of its organization. */
export class MetadataValues extends Context.Service<
  MetadataValues,
  {
    /**
     * Fails with the validation errors of metadata, if there are any. It runs within the transaction of the write, so
     * that the fields do not change before the value is stored. Empty or unchanged metadata needs no query.
     */
    readonly check: (
      organizationId: OrganizationId,
      resourceType: ResourceType,
      before: Readonly<Record<string, unknown>>,
      after: Readonly<Record<string, unknown>>,
    ) => Effect.Effect<void, ValidationFailed, Transaction>
  }
>()("keyshelf/metadata/MetadataValues") {
  static readonly layer = Layer.suspend(() => Layer.effect(MetadataValues, make))
}

const make = Effect.gen(function* () {
  const repo = yield* MetadataFieldsRepo

  const check = Effect.fn("MetadataValues.check")(function* (
    organizationId: OrganizationId,
    resourceType: ResourceType,
    before: Metadata,
    after: Metadata,
  ) {
    yield* Transaction
    const keys = Object.keys(after)
    if (keys.length === 0 || isEqualJson(before, after)) return
    const errors = metadataErrors(yield* repo.lockRules(organizationId, resourceType, keys), before, after)
    yield* failWithErrors(errors)
  })

  return { check }
})
