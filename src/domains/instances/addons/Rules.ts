/** What a request makes of the add-ons of one family on an instance. Pure. */
import type { ValidationError } from "../../../kernel/contract/Problem.ts"
import { isSameInstant } from "../../../kernel/values/Timestamp.ts"
import type { AddOn, PutAddOn } from "./Model.ts"

/** The maximum number of families that an instance has add-ons of, in force or planned. */
export const MAX_FAMILIES = 50

/** The maximum number of windows of all its add-ons: each check of the instance reads them. */
export const MAX_WINDOWS = 100

/** An add-on with the id of its version. */
export type AddOnWindow = AddOn & { readonly licenseId: string }

/** The record of an add-on. */
export const recordOf = ({
  addOn,
  createdAt,
  createdBy,
  endedAt,
  endedBy,
  endsAt,
  id,
  instance,
  license,
  quantity,
  reason,
  startsAt,
}: AddOn): AddOn => ({
  id,
  instance,
  addOn,
  license,
  quantity,
  startsAt,
  endsAt,
  reason,
  createdAt,
  createdBy,
  endedAt,
  endedBy,
})

type Window = Pick<AddOn, "startsAt" | "endsAt">

/** Whether an add-on is in force at an instant: in `[startsAt, endsAt)`. */
const isInForce = ({ endsAt, startsAt }: Window, at: Date): boolean =>
  startsAt <= at && (endsAt === null || at < endsAt)

/** The add-on that is in force at an instant. */
export const inForceAt = <A extends Window>(windows: ReadonlyArray<A>, at: Date): A | undefined =>
  windows.find((window) => isInForce(window, at))

/** From when on a request says what is so. The start of what is in force means now, so that a record can be sent back. */
export const startOf = ({ startsAt }: PutAddOn, windows: ReadonlyArray<Window>, at: Date): Date => {
  if (startsAt === undefined) return at
  return isSameInstant(startsAt, inForceAt(windows, at)?.startsAt ?? null) ? at : startsAt
}

/** Validation errors of the window. `at` is the time of the request. */
export const windowErrors = ({ endsAt, startsAt }: Window, at: Date): ReadonlyArray<ValidationError> => [
  ...(startsAt < at
    ? [{ location: "body.startsAt", message: "must not be in the past; omit it to start now", value: startsAt }]
    : []),
  ...(endsAt !== null && endsAt <= startsAt
    ? [{ location: "body.endsAt", message: "must be after startsAt and in the future", value: endsAt }]
    : []),
]

type Terms = Pick<AddOnWindow, "licenseId" | "quantity" | "startsAt" | "endsAt" | "reason">

/** What changes if an add-on is set. */
interface Replacement {
  /** What says the same already: nothing changes. */
  readonly unchanged: AddOnWindow | undefined
  /** What is in force at the start, from before it: it ends then. */
  readonly cut: AddOnWindow | undefined
  /** What begins at the start or later: it never is. */
  readonly replaced: ReadonlyArray<AddOnWindow>
  /** What would have been in force at the start, or the first one after it. */
  readonly previous: AddOnWindow | undefined
}

/**
 * Sets an add-on among those of its family that are in force or planned, by their start. From its start on, nothing else of them is
 * left. What is in force before it stays until then.
 */
export const replacementBy = (terms: Terms, windows: ReadonlyArray<AddOnWindow>): Replacement => {
  const current = inForceAt(windows, terms.startsAt)
  const replaced = windows.filter(({ startsAt }) => startsAt >= terms.startsAt)
  const isUnchanged =
    current !== undefined &&
    replaced.every((window) => window === current) &&
    current.licenseId === terms.licenseId &&
    current.quantity === terms.quantity &&
    current.reason === terms.reason &&
    isSameInstant(current.endsAt, terms.endsAt)
  return {
    unchanged: isUnchanged ? current : undefined,
    cut: current !== undefined && current.startsAt < terms.startsAt ? current : undefined,
    replaced,
    previous: current ?? replaced[0],
  }
}
