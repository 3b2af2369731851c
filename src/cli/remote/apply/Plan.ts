/** The plan of `keyshelf apply`: steps, each with one request. */
import type { Section } from "../../../api/CatalogFile.ts"
import type { Request } from "../connection/Service.ts"

/** Properties of a record that are compared or sent, whatever the record is. */
export type Properties = Readonly<Record<string, unknown>>

/** The path of a value in the file. */
export type Place = ReadonlyArray<string | number>

/** A property that differs. `undefined` is none. */
export interface Change {
  readonly property: string
  readonly before: unknown
  readonly after: unknown
}

/** Who changed a record of the service last, and when. */
export interface LastChange {
  readonly by: string
  readonly at: string
  /** Whether it was another identity than the one that runs the command. */
  readonly isOutside: boolean
}

/** A record as texts name it: `entitlement`, `api-calls`. */
export interface Subject {
  readonly section: Section
  readonly noun: string
  readonly name: string
  readonly lastChange?: LastChange | undefined
}

/** One request. */
export interface Step extends Subject {
  /** What is done to the record, such as `create` or `publish`. */
  readonly action: string
  readonly method: Request["method"]
  readonly path: string
  readonly body?: Properties
  readonly changes: ReadonlyArray<Change>
  /** Where the record is in the file; none if it is not. */
  readonly place: Place
  /** The names that this step makes usable, and those that must be usable before it: `entitlements/api-calls`. */
  readonly provides?: string
  readonly requires: ReadonlyArray<string>
  /** Whether it removes something that the file does not have. These steps come last. */
  readonly isRemoval: boolean
  /** Whether the API has a dry run of the request that works before any other step is done. */
  readonly hasDryRun: boolean
}

/** A difference that is not applied, because it must not or cannot be. */
export interface Refusal extends Subject {
  readonly place: Place
  readonly message: string
}

export interface Plan {
  readonly steps: ReadonlyArray<Step>
  readonly refusals: ReadonlyArray<Refusal>
  /** Records of the service that the file does not have, and that stay. */
  readonly unlisted: ReadonlyArray<Subject>
}

export const emptyPlan: Plan = { steps: [], refusals: [], unlisted: [] }

/** The inputs of a plan besides the file and the records of the service. */
export interface PlanOptions {
  /** Whether records are removed that the file does not have. */
  readonly prune: boolean
  /** The id of the identity that runs the command. */
  readonly identityId: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export const joined = (plans: ReadonlyArray<Plan>): Plan => ({
  steps: plans.flatMap(({ steps }) => steps),
  refusals: plans.flatMap(({ refusals }) => refusals),
  unlisted: plans.flatMap(({ unlisted }) => unlisted),
})

/** The last change of a record, if the API returns it. */
export const lastChangeOf = (
  {
    updatedAt,
    updatedBy,
  }: { readonly updatedAt?: string; readonly updatedBy?: { readonly id: string; readonly name: string } },
  { identityId }: PlanOptions,
): LastChange | undefined =>
  updatedAt === undefined || updatedBy === undefined
    ? undefined
    : { by: updatedBy.name, at: updatedAt, isOutside: updatedBy.id !== identityId }
