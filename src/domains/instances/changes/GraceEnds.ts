/** Keeps the ends of grace periods within the years that can be written (1 to 9999). */
import { Effect, Option } from "effect"
import { failWithErrors } from "../../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import { DAY_MS, isSameInstant, LAST_INSTANT_MS } from "../../../kernel/values/Timestamp.ts"
import type { OrganizationId } from "../../../kernel/values/Identifiers.ts"
import { lastEndBefore, MAX_GRACE_DAYS } from "../../licenses/Model.ts"
import type { License } from "../../licenses/Model.ts"
import type { CreateInstance, Instance, UpdateInstance } from "../Model.ts"
import { licenseReference } from "../Rules.ts"

type Body = CreateInstance | UpdateInstance

/** What decides when access to an instance ends. */
type AccessTerm = Pick<Instance, "endLicenseDate" | "graceDays" | "licenseId">

const isSameTerm = (one: AccessTerm, other: AccessTerm): boolean =>
  isSameInstant(one.endLicenseDate, other.endLicenseDate) &&
  one.graceDays === other.graceDays &&
  one.licenseId === other.licenseId

/** Whether the grace period may pass the year 9999, so that the days of the license have to be known. */
const mayPass = (term: AccessTerm, current: AccessTerm | null): boolean =>
  term.endLicenseDate !== null &&
  term.endLicenseDate > lastEndBefore(MAX_GRACE_DAYS) &&
  // Earlier releases stored such terms. A change of something else must not be rejected because of them.
  (current === null || !isSameTerm(term, current))

/** The error names what causes it: the days, otherwise the end date, otherwise the license, whichever is changed. */
const graceErrors = (
  term: AccessTerm,
  current: AccessTerm | null,
  daysOfLicense: number,
  body: Body,
): ReadonlyArray<ValidationError> => {
  const end = term.endLicenseDate?.getTime() ?? 0
  const days = term.graceDays ?? daysOfLicense
  if (end + days * DAY_MS <= LAST_INSTANT_MS) return []
  if (body.graceDays !== undefined && body.graceDays !== current?.graceDays) {
    const left = Math.floor((LAST_INSTANT_MS - end) / DAY_MS)
    const message = `must end within the year 9999, hence be at most ${left} for this end date; an end date of null never ends`
    return [{ location: "body.graceDays", message, value: body.graceDays }]
  }
  if (body.endLicenseDate !== undefined && !isSameInstant(body.endLicenseDate, current?.endLicenseDate ?? null)) {
    const message = `must leave ${days} days of grace within the year 9999; send null for a license that never ends`
    return [{ location: "body.endLicenseDate", message, value: body.endLicenseDate }]
  }
  const { property, value } = licenseReference(body) ?? { property: "licenseId", value: term.licenseId }
  const message = `must be a license whose days of grace, here ${days}, end within the year 9999`
  return [{ location: `body.${property}`, message, value }]
}

/** Rejects terms whose grace period passes the year 9999. `lock` reads a license and locks it, so that its days stay. */
export const graceEndCheck = (
  lock: (organizationId: OrganizationId, licenseId: string) => Effect.Effect<Option.Option<License>>,
) =>
  Effect.fnUntraced(function* (
    organizationId: OrganizationId,
    term: AccessTerm,
    current: AccessTerm | null,
    body: Body,
  ) {
    if (!mayPass(term, current)) return
    const license = term.graceDays === null ? yield* lock(organizationId, term.licenseId) : Option.none()
    const days = Option.match(license, { onNone: () => 0, onSome: ({ graceDays }) => graceDays })
    yield* failWithErrors(graceErrors(term, current, days, body))
  })
