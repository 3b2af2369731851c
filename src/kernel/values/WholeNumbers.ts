/** Whole numbers in queries, which are texts. */
import { Schema, SchemaTransformation } from "effect"

/** A whole number, written in digits alone: other formats of JavaScript numbers (`1e2`, `0x10`, ` 5`) are rejected. */
export const WholeNumberText = (minimum: number, maximum: number, description: string) =>
  Schema.String.check(Schema.isPattern(/^\d{1,10}$/, { expected: `a whole number from ${minimum} to ${maximum}` }))
    .annotate({ description })
    .pipe(
      Schema.decodeTo(Schema.Int.check(Schema.isBetween({ minimum, maximum })), SchemaTransformation.numberFromString),
    )
