/** Which release the body of a zone names. Pure. */
import { Result } from "effect"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import type { DeploymentZone, ReleaseNames } from "./Model.ts"

/** A release by the property of the body that names it. `slug` is sent beside an id, and must be that of the same release. */
type NamedRelease =
  | { readonly property: "releaseId"; readonly value: string; readonly slug?: string }
  | { readonly property: "releaseSlug"; readonly value: string }

/** What a zone runs now. A new one runs nothing. */
type Running = Pick<DeploymentZone, "releaseId" | "releaseSlug">

/**
 * The release that a body names: `null` for none, `undefined` if it names the current one. A record that was read names its release by id
 * and by slug, and can be sent back with one of them changed.
 */
export const namedRelease = (
  current: Running,
  { releaseId, releaseSlug }: ReleaseNames,
): Result.Result<NamedRelease | null | undefined, ReadonlyArray<ValidationError>> => {
  const id = releaseId?.toLowerCase() ?? releaseId
  const changed = {
    id: id === current.releaseId ? undefined : id,
    slug: releaseSlug === current.releaseSlug ? undefined : releaseSlug,
  }
  if (changed.id === undefined) {
    return Result.succeed(changed.slug == null ? changed.slug : { property: "releaseSlug", value: changed.slug })
  }
  if (changed.slug === undefined) {
    return Result.succeed(changed.id === null ? null : { property: "releaseId", value: changed.id })
  }
  if (changed.id === null && changed.slug === null) return Result.succeed(null)
  if (changed.id !== null && changed.slug !== null) {
    return Result.succeed({ property: "releaseId", value: changed.id, slug: changed.slug })
  }
  return Result.fail([slugMismatch(changed.slug)])
}

/** The validation error of a slug that names another release than the id. */
export const slugMismatch = (value: string | null): ValidationError => ({
  location: "body.releaseSlug",
  message: "must name the same release as releaseId, or be omitted",
  value,
})
