/** A row with the summary of some events, as PostgreSQL computes it. */
import { Schema } from "effect"
import type { BigDecimal } from "effect"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import type { Summary } from "../rules/Aggregation.ts"

/** A {@link Summary} whose decimals are text. */
export const SummaryRow = Schema.Struct({
  replacedBy: Schema.NullOr(Schema.String),
  count: Schema.Int,
  keys: Schema.Int,
  sum: Schema.NullOr(Schema.String),
  minimum: Schema.NullOr(Schema.String),
  maximum: Schema.NullOr(Schema.String),
  latest: Schema.NullOr(Schema.String),
})
type SummaryRow = typeof SummaryRow.Type

const decimal = (text: string | null): BigDecimal.BigDecimal | null => (text === null ? null : storedDecimal(text))

/** The summary of a row. */
export const summaryOf = ({ count, keys, latest, maximum, minimum, replacedBy, sum }: SummaryRow): Summary => ({
  replacedBy: decimal(replacedBy),
  count,
  keys,
  sum: decimal(sum),
  minimum: decimal(minimum),
  maximum: decimal(maximum),
  latest: decimal(latest),
})
