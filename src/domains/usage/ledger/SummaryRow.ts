/** A row with the summary of some events, as PostgreSQL computes it. */
import type { BigDecimal } from "effect"
import { storedDecimal } from "../../../kernel/values/Decimal.ts"
import type { Summary } from "../rules/Aggregation.ts"

/** A {@link Summary} whose decimals are text. */
export type SummaryRow = {
  readonly [Property in keyof Summary]: Summary[Property] extends number ? number : string | null
}

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
