/** Validation of releases, and changes of their policies. Pure. */
import type { ActorReference } from "../../kernel/contract/Caller.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import type { CreateRelease, ReleaseAccess, UpdateReleaseAccess } from "./Model.ts"

/** A list of names in a body, and what it names. */
export interface NamedList {
  readonly property: string
  readonly kind: string
  readonly names: ReadonlyArray<string>
}

const at = ({ property }: NamedList, index: number): string => `body.${property}[${index}]`

/** The components that a body lists. Ids are compared in lower case. */
export const componentList = ({ componentIds, componentSlugs }: CreateRelease): NamedList =>
  componentSlugs === undefined
    ? {
        property: "componentIds",
        kind: "id of an existing component",
        names: (componentIds ?? []).map((id) => id.toLowerCase()),
      }
    : { property: "componentSlugs", kind: "slug of an existing component", names: componentSlugs }

/** The entitlements that a policy in a body lists. */
export const requiredList = (names: ReadonlyArray<string> = [], property = "entitlements"): NamedList => ({
  property,
  kind: "slug of an existing entitlement",
  names,
})

/** Validation errors for names that occur earlier in the list. */
const repetitionErrors = (list: NamedList): ReadonlyArray<ValidationError> =>
  list.names.flatMap((name, index) =>
    list.names.indexOf(name) < index
      ? [{ location: at(list, index), message: "must not repeat an earlier one", value: name }]
      : [],
  )

/** Validation errors for names that were not found. */
export const unknownNameErrors = (list: NamedList, found: ReadonlySet<string>): ReadonlyArray<ValidationError> =>
  list.names.flatMap((name, index) =>
    found.has(name) ? [] : [{ location: at(list, index), message: `must be the ${list.kind}`, value: name }],
  )

/** Validation errors of the body of a creation that need no look-up. */
export const creationErrors = (input: CreateRelease, now: Date): ReadonlyArray<ValidationError> => [
  ...(input.componentIds !== undefined && input.componentSlugs !== undefined
    ? [
        {
          location: "body.componentSlugs",
          message: "must be omitted if componentIds is sent: only one of them is allowed",
        },
      ]
    : repetitionErrors(componentList(input))),
  ...repetitionErrors(requiredList(input.access?.entitlements, "access.entitlements")),
  ...(input.releasedAt !== undefined && input.releasedAt > now
    ? [{ location: "body.releasedAt", message: "must not lie in the future", value: input.releasedAt }]
    : []),
]

/** Validation errors of a change of a policy: a reason belongs to a release that is withdrawn. */
export const accessErrors = (current: ReleaseAccess, input: UpdateReleaseAccess): ReadonlyArray<ValidationError> => [
  ...repetitionErrors(requiredList(input.entitlements)),
  ...(input.withdrawnReason != null && !(input.withdrawn ?? current.withdrawnAt !== null)
    ? [
        {
          location: "body.withdrawnReason",
          message: "must be omitted unless the release is withdrawn: send withdrawn true with it",
          value: input.withdrawnReason,
        },
      ]
    : []),
]

/** The policy after a change. A release that is withdrawn already stays withdrawn since then. */
export const changedAccess = (
  current: ReleaseAccess,
  input: UpdateReleaseAccess,
  { at: updatedAt, by }: { readonly at: Date; readonly by: ActorReference },
): ReleaseAccess => {
  const isWithdrawn = input.withdrawn ?? current.withdrawnAt !== null
  return {
    offered: input.offered ?? current.offered,
    entitlements: (input.entitlements ?? current.entitlements).toSorted(),
    withdrawnAt: isWithdrawn ? (current.withdrawnAt ?? updatedAt) : null,
    withdrawnReason: !isWithdrawn
      ? null
      : input.withdrawnReason === undefined
        ? current.withdrawnReason
        : input.withdrawnReason,
    updatedAt,
    updatedBy: by,
  }
}
