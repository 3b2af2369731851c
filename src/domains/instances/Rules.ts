/** Decisions about the bodies of instances (contract, section 5, "Customers, instances"). Pure. */
import type { ProblemFault } from "../../kernel/contract/Problem.ts"
import type { Instance, InstanceChange, NewInstance } from "./Model.ts"

type Body = NewInstance | InstanceChange

const customerMembers = ["customerId", "customerSlug"] as const
const licenseMembers = ["licenseId", "licenseSlug", "licenseFamilySlug"] as const

/** The member by which a body names something, and what it says. */
export interface Naming {
  readonly member: (typeof customerMembers)[number] | (typeof licenseMembers)[number]
  readonly value: string
}

const namings = (body: Body, members: ReadonlyArray<Naming["member"]>): ReadonlyArray<Naming> =>
  members.flatMap((member) => {
    const value = body[member]
    return value === undefined ? [] : [{ member, value }]
  })

/** How a body names the customer; nothing if it does not. */
export const customerNaming = (body: Body): Naming | undefined => namings(body, customerMembers)[0]

/** How a body names the license; nothing if it does not. */
export const licenseNaming = (body: Body): Naming | undefined => namings(body, licenseMembers)[0]

const namingFaults = (
  body: Body,
  members: ReadonlyArray<Naming["member"]>,
  isDue: boolean,
): ReadonlyArray<ProblemFault> => {
  const [first, ...others] = namings(body, members)
  if (first === undefined) {
    return isDue ? [{ location: `body.${members[0]}`, message: `is missing: one of ${members.join(", ")} is due` }] : []
  }
  return others.map(({ member, value }) => ({
    location: `body.${member}`,
    message: `contradicts ${first.member}: only one of ${members.join(", ")} is taken`,
    value,
  }))
}

/** The license ends after it starts. The fault stands at the date that was sent, the end if both were. */
export const termFaults = (
  term: Pick<Instance, "startLicenseDate" | "endLicenseDate">,
  body: Body,
): ReadonlyArray<ProblemFault> => {
  if (term.endLicenseDate === null || term.endLicenseDate > term.startLicenseDate) return []
  return body.endLicenseDate === undefined
    ? [{ location: "body.startLicenseDate", message: "must be before endLicenseDate", value: body.startLicenseDate }]
    : [{ location: "body.endLicenseDate", message: "must be after startLicenseDate", value: body.endLicenseDate }]
}

/** What is wrong with the body of a creation. */
export const creationFaults = (body: NewInstance): ReadonlyArray<ProblemFault> => [
  ...namingFaults(body, customerMembers, true),
  ...namingFaults(body, licenseMembers, true),
  ...termFaults(body, body),
]

/** What is wrong with the body of a change to this instance. */
export const changeFaults = (current: Instance, body: InstanceChange): ReadonlyArray<ProblemFault> => [
  ...namingFaults(body, customerMembers, false),
  ...namingFaults(body, licenseMembers, false),
  ...termFaults({ ...current, ...body }, body),
]
