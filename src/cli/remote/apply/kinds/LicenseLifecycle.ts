/** Plans the states of license versions: published, default, archived. Pure. */
import type { LifecycleState } from "../../../../domains/licenses/Model.ts"
import type { Place, Step, Subject } from "../Plan.ts"
import type { StoredVersion } from "../Stored.ts"

/** A version of the file, and its record in the service. */
export interface Release {
  readonly subject: Subject
  readonly path: string
  readonly place: Place
  readonly stored: StoredVersion | undefined
  /** Whether an earlier step creates or changes the version. */
  readonly isTouched: boolean
  readonly state: LifecycleState
  readonly isDefault: boolean
}

/** The slug of the default version of a family. */
export const currentDefaultOf = (versions: ReadonlyArray<StoredVersion>): string | undefined =>
  versions.find(({ isDefault }) => isDefault)?.slug

const transition = (
  { path, place, subject }: Pick<Release, "path" | "place" | "subject">,
  action: "publish" | "archive" | "unarchive",
  before: string,
  more: { readonly hasDryRun: boolean; readonly isRemoval?: boolean },
): Step => ({
  ...subject,
  action,
  method: "POST",
  path: `${path}/${action}`,
  changes: [{ property: "lifecycleState", before, after: action === "archive" ? "ARCHIVED" : "PUBLISHED" }],
  place,
  requires: more.isRemoval === true ? [] : [`licenses/${subject.name}`],
  isRemoval: more.isRemoval ?? false,
  hasDryRun: more.hasDryRun,
})

const setDefault = (
  { path, place, subject }: Pick<Release, "path" | "place" | "subject">,
  isDefault: boolean,
  more: { readonly hasDryRun: boolean; readonly isRemoval?: boolean; readonly updatedAt?: unknown },
): Step => ({
  ...subject,
  action: isDefault ? "make it the default" : "make it no longer the default",
  method: "PUT",
  path,
  body: { isDefault, ...(more.updatedAt === undefined ? {} : { updatedAt: more.updatedAt }) },
  changes: [{ property: "isDefault", before: !isDefault, after: isDefault }],
  place,
  requires: more.isRemoval === true ? [] : [`licenses/${subject.name}`],
  isRemoval: more.isRemoval ?? false,
  hasDryRun: more.hasDryRun,
})

/** What a version of the service can become without another step before it. */
const isReady = ({ isTouched, stored }: Release): boolean => stored !== undefined && !isTouched

/**
 * The steps from the states of the service to those of the file: first publications, then the default version, and
 * archivals last, because the default version cannot be archived.
 */
export const releaseSteps = (
  releases: ReadonlyArray<Release>,
  currentDefault: string | undefined,
): ReadonlyArray<Step> => {
  const stateOf = ({ stored }: Release): LifecycleState => stored?.lifecycleState ?? "DRAFT"
  const published = releases.flatMap((release) => {
    const state = stateOf(release)
    if (release.state === "DRAFT") return []
    if (state === "DRAFT") return [transition(release, "publish", state, { hasDryRun: isReady(release) })]
    return state === "ARCHIVED" && release.state === "PUBLISHED"
      ? [transition(release, "unarchive", state, { hasDryRun: isReady(release) })]
      : []
  })
  const next = releases.find(({ isDefault }) => isDefault)
  const previous = releases.find(({ subject }) => subject.name === currentDefault)
  const changesOf = (release: Release, isDefault: boolean) => {
    const isFirst = isReady(release) && stateOf(release) === "PUBLISHED"
    const updatedAt = isFirst ? { updatedAt: release.stored?.updatedAt } : {}
    return [setDefault(release, isDefault, { hasDryRun: isFirst, ...updatedAt })]
  }
  const defaulted =
    next === undefined
      ? previous === undefined
        ? []
        : changesOf(previous, false)
      : next.subject.name === currentDefault
        ? []
        : changesOf(next, true)
  const archived = releases.flatMap((release) =>
    release.state === "ARCHIVED" && stateOf(release) !== "ARCHIVED"
      ? [
          transition(release, "archive", "PUBLISHED", {
            hasDryRun: isReady(release) && stateOf(release) === "PUBLISHED" && release.subject.name !== currentDefault,
          }),
        ]
      : [],
  )
  return [...published, ...defaulted, ...archived]
}

/**
 * The steps that remove a version that the file does not have: a draft is deleted; a published one stops being the
 * default and is archived.
 */
export const removalSteps = (
  subject: Subject,
  path: string,
  stored: StoredVersion,
  hasNewDefault: boolean,
): ReadonlyArray<Step> => {
  const at = { path, place: ["licenseFamilies"], subject }
  if (stored.lifecycleState === "DRAFT") {
    const deletion: Step = {
      ...subject,
      action: "delete",
      method: "DELETE",
      path,
      changes: [],
      place: at.place,
      requires: [],
      isRemoval: true,
      hasDryRun: true,
    }
    return [deletion]
  }
  const { isDefault } = stored
  return [
    ...(isDefault && !hasNewDefault ? [setDefault(at, false, { hasDryRun: true, isRemoval: true })] : []),
    transition(at, "archive", "PUBLISHED", { hasDryRun: !isDefault, isRemoval: true }),
  ]
}
