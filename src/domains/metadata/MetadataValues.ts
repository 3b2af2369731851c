/** Validates the metadata of zones and instances on writes. */
import { Context, Effect, Layer } from "effect"
import { failWithErrors } from "../../kernel/contract/Problem.ts"
import { Transaction } from "../../kernel/database/Transactions.ts"
import type { ResourceType } from "./Model.ts"
import { MetadataFieldsRepo } from "./Repo.ts"
import { isEqualJson, metadataErrors } from "./ValueRules.ts"

type Metadata = Readonly<Record<string, unknown>>

const make = Effect.gen(function* () {
  const repo = yield* MetadataFieldsRepo

  /**
   * Fails with the validation errors of metadata, if there are any. It runs within the transaction of the write, so
   * that the fields do not change before the value is stored. Empty or unchanged metadata needs no query.
   */
  const check = Effect.fn("MetadataValues.check")(function* (
    organizationId: string,
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

/** Validates metadata against the fields of its organization. */
export class MetadataValues extends Context.Service<MetadataValues, Effect.Success<typeof make>>()(
  "keyshelf/metadata/MetadataValues",
) {
  static readonly layer = Layer.effect(MetadataValues, make)
}
