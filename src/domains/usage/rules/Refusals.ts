/** Why an entitlement cannot be used, in words. Pure. */
import type { CheckReason } from "./Decision.ts"
import type { CheckedInstance } from "./Terms.ts"

/** The detail of a denial; `undefined` if a limit was reached. */
export const refusalText = (
  meter: CheckedInstance & { readonly entitlement: string },
  reason: CheckReason,
): string | undefined => {
  switch (reason) {
    case "LICENSE_NOT_STARTED":
      return `The license of "${meter.instance}" starts on ${meter.startLicenseDate.toISOString()}.`
    case "LICENSE_EXPIRED":
      return `The license of "${meter.instance}" ended on ${meter.endLicenseDate?.toISOString() ?? ""}.`
    case "NOT_GRANTED":
      return `The license "${meter.license}" does not grant "${meter.entitlement}" of "${meter.instance}".`
    default:
      return undefined
  }
}
