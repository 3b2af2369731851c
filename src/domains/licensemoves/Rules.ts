/** Rules of license migrations. Pure. */
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { isAddOn } from "../licenses/Model.ts"
import type { License } from "../licenses/Model.ts"
import { DAY_MS } from "../../kernel/values/Timestamp.ts"
import type { LicenseMigration, MigrateLicense } from "./Model.ts"

/** For how long after its end a migration can be reverted. */
const REVERTIBLE_DAYS = 35

/** Validation errors of how the body names the license version. */
export const namingErrors = ({
  toLicenseFamilySlug,
  toLicenseSlug,
}: MigrateLicense): ReadonlyArray<ValidationError> => {
  if (toLicenseSlug === undefined && toLicenseFamilySlug === undefined) {
    return [{ location: "body.toLicenseSlug", message: "required: send one of toLicenseSlug, toLicenseFamilySlug" }]
  }
  return toLicenseSlug === undefined || toLicenseFamilySlug === undefined
    ? []
    : [
        {
          location: "body.toLicenseFamilySlug",
          message: "must be omitted if toLicenseSlug is sent",
          value: toLicenseFamilySlug,
        },
      ]
}

/** The property that names the license version. */
export const namingProperty = ({ toLicenseSlug }: MigrateLicense): "toLicenseSlug" | "toLicenseFamilySlug" =>
  toLicenseSlug === undefined ? "toLicenseFamilySlug" : "toLicenseSlug"

/** The validation message if nothing can move from one version to the other. */
export const kindError = (from: License, to: License): string | undefined => {
  if (isAddOn(from) !== isAddOn(to)) {
    return isAddOn(from) ? "must be a version of the add-on, not a license" : "must be a license, not an add-on"
  }
  return isAddOn(from) && from.familyId !== to.familyId ? "must be a version of the same add-on" : undefined
}

/** Whether a migration that is done can no longer be reverted. */
export const isTooLate = ({ finishedAt }: Pick<LicenseMigration, "finishedAt">, at: Date): boolean =>
  finishedAt !== null && at.getTime() > finishedAt.getTime() + REVERTIBLE_DAYS * DAY_MS
