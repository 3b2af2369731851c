/** Validation of the bodies of instances. Pure. */
import { Result } from "effect"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import type { Instance, UpdateInstance, CreateInstance } from "./Model.ts"

type Body = CreateInstance | UpdateInstance

const customerProperties = ["customerId", "customerSlug"] as const
const licenseProperties = ["licenseId", "licenseSlug", "licenseFamilySlug"] as const

/** A property by which a body names a customer or a license, with its value. */
export interface Reference {
  readonly property: (typeof customerProperties)[number] | (typeof licenseProperties)[number]
  readonly value: string
}

const namings = (body: Body, properties: ReadonlyArray<Reference["property"]>): ReadonlyArray<Reference> =>
  properties.flatMap((property) => {
    const value = body[property]
    return value === undefined ? [] : [{ property, value }]
  })

/** How a body names the customer, if it does. */
export const customerReference = (body: Body): Reference | undefined => namings(body, customerProperties)[0]

/** How a body names the license, if it does. */
export const licenseReference = (body: Body): Reference | undefined => namings(body, licenseProperties)[0]

const namingErrors = (
  body: Body,
  properties: ReadonlyArray<Reference["property"]>,
  isRequired: boolean,
): ReadonlyArray<ValidationError> => {
  const [first, ...others] = namings(body, properties)
  if (first === undefined) {
    return isRequired
      ? [{ location: `body.${properties[0]}`, message: `required: send one of ${properties.join(", ")}` }]
      : []
  }
  return others.map(({ property, value }) => ({
    location: `body.${property}`,
    message: `must be omitted if ${first.property} is sent: only one of ${properties.join(", ")} is allowed`,
    value,
  }))
}

/** The license must end after it starts. The error names the date that was sent, the end date if both were. */
const termErrors = (
  term: Pick<Instance, "startLicenseDate" | "endLicenseDate">,
  body: Body,
): ReadonlyArray<ValidationError> => {
  if (term.endLicenseDate === null || term.endLicenseDate > term.startLicenseDate) return []
  return body.endLicenseDate === undefined
    ? [{ location: "body.startLicenseDate", message: "must be before endLicenseDate", value: body.startLicenseDate }]
    : [{ location: "body.endLicenseDate", message: "must be after startLicenseDate", value: body.endLicenseDate }]
}

/** How the body of a creation names the customer and the license, or its validation errors. */
export const creationNames = (
  body: CreateInstance,
): Result.Result<{ readonly customer: Reference; readonly license: Reference }, ReadonlyArray<ValidationError>> => {
  const customer = customerReference(body)
  const license = licenseReference(body)
  const errors = [
    ...namingErrors(body, customerProperties, true),
    ...namingErrors(body, licenseProperties, true),
    ...termErrors(body, body),
  ]
  return customer === undefined || license === undefined || errors.length > 0
    ? Result.fail(errors)
    : Result.succeed({ customer, license })
}

/**
 * The body without the names of the current customer and the current license: a record that was read names both, by id and
 * by slug, and can be sent back with one of them changed.
 */
export const withoutCurrentNames = (current: Instance, body: UpdateInstance): UpdateInstance => {
  const { customerId, customerSlug, licenseId, licenseSlug, ...others } = body
  return {
    ...others,
    ...(customerId === undefined || customerId.toLowerCase() === current.customerId ? {} : { customerId }),
    ...(customerSlug === undefined || customerSlug === current.customerSlug ? {} : { customerSlug }),
    ...(licenseId === undefined || licenseId.toLowerCase() === current.licenseId ? {} : { licenseId }),
    ...(licenseSlug === undefined || licenseSlug === current.licenseSlug ? {} : { licenseSlug }),
  }
}

/** Validation errors of the body of a change to this instance. */
export const changeErrors = (current: Instance, body: UpdateInstance): ReadonlyArray<ValidationError> => [
  ...namingErrors(body, customerProperties, false),
  ...namingErrors(body, licenseProperties, false),
  ...termErrors({ ...current, ...body }, body),
]
