/** What an entitlement is, in words. */
import type { Entitlement } from "../kernel/Contract.ts"
import { t } from "./texts.en.ts"

/** How usage is measured: "Sum of the reports, every month". */
export const measuredText = ({ aggregationMethod, resetPeriod }: Entitlement): string => {
  if (aggregationMethod === null) return ""
  const method = t.aggregations[aggregationMethod]
  return resetPeriod === null ? method : `${method}, ${t.periods[resetPeriod].toLowerCase()}`
}
