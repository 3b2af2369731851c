/**
 * Merges settings to a document that its schema accepts. The secrets of an omitted object are retained if the object is
 * valid with them alone. Else the object is omitted as a whole: it may require more than its secrets, or belong to
 * another branch of a `oneOf`. Pure.
 */
import type { JsonObject } from "../Model.ts"
import type { Applicable } from "../schema/SchemaWalk.ts"
import { settingsErrors } from "../schema/SettingsValidator.ts"
import type { SettingsError } from "../schema/SettingsValidator.ts"
import { merge } from "./SettingsMerge.ts"
import type { Merged, Path } from "./SettingsMerge.ts"

/** What to merge, and the schema that the result must match. */
export interface MergeRequest {
  readonly at: Applicable
  readonly schema: JsonObject
  readonly sent: JsonObject
  readonly stored: JsonObject | undefined
  readonly location: string
}

/** The merged settings, and why they are not valid. */
export interface Validated extends Merged {
  readonly invalid: ReadonlyArray<SettingsError>
}

/**
 * The maximum number of objects that are tried one by one, because each try validates the document. An error names the
 * objects that cause it in most schemas, so that this concerns only the others.
 */
const MAX_TRIES = 8

// Each may name an object to drop, so that few rounds are enough.
const MAX_ERRORS = 1000

const isWithin = (path: Path, object: Path): boolean => object.every((part, index) => path[index] === part)

const keyOf = (path: Path): string => JSON.stringify(path)

/** The innermost of these objects that contains the path. */
const innermost = (objects: ReadonlyMap<string, Path>, path: Path): Path | undefined => {
  for (let length = path.length; length > 0; length--) {
    const object = objects.get(keyOf(path.slice(0, length)))
    if (object !== undefined) return object
  }
  return undefined
}

/**
 * The omitted objects that errors name. Of nested ones only the inner: an outer one is named too if it has branches, and
 * may be valid without the inner.
 */
const namedObjects = (
  retained: ReadonlyMap<string, Path>,
  errors: ReadonlyArray<SettingsError>,
): ReadonlyArray<Path> => {
  const named = new Set(errors.map(({ path }) => innermost(retained, path)).filter((object) => object !== undefined))
  const outer = new Set([...named].flatMap((object) => object.map((_, length) => keyOf(object.slice(0, length)))))
  return [...named].filter((object) => !outer.has(keyOf(object)))
}

const validated = (request: MergeRequest, nullRemoves: boolean, dropped: ReadonlyArray<Path>): Validated => {
  const { at, location, schema, sent, stored } = request
  const merged = merge(at, sent, stored, { location, nullRemoves, dropped })
  return { ...merged, invalid: settingsErrors(schema, merged.settings, MAX_ERRORS) }
}

// Takes back each dropped object with which the settings are valid too.
const restored = (
  request: MergeRequest,
  nullRemoves: boolean,
  dropped: ReadonlyArray<Path>,
  valid: Validated,
): Validated => {
  let remaining = dropped
  let current = valid
  for (const object of dropped.toSorted((one, other) => one.length - other.length)) {
    const without = remaining.filter((other) => other !== object)
    const tried = validated(request, nullRemoves, without)
    if (tried.invalid.length > 0) continue
    remaining = without
    current = tried
  }
  return current
}

/**
 * Drops the omitted objects that errors name, from the inside out. If no error names one, drops all and takes back those
 * that are not to blame. The result may still be invalid.
 */
const droppedToValid = (request: MergeRequest, nullRemoves: boolean): Validated => {
  let dropped: ReadonlyArray<Path> = []
  let current = validated(request, nullRemoves, dropped)
  while (current.invalid.length > 0) {
    const retained = new Map(current.retainedObjects.map((object) => [keyOf(object), object]))
    const next = namedObjects(retained, current.invalid)
    if (next.length === 0) break
    dropped = [...dropped, ...next]
    current = validated(request, nullRemoves, dropped)
  }
  if (current.invalid.length > 0) {
    // The error is in an object that was sent, such as a `oneOf` around those that were not.
    const all = current.retainedObjects.filter(
      (object) => !current.retainedObjects.some((other) => other !== object && isWithin(object, other)),
    )
    if (all.length === 0 || all.length > MAX_TRIES) return current
    dropped = [...dropped, ...all]
    current = validated(request, nullRemoves, dropped)
    if (current.invalid.length > 0) return current
  }
  // Errors of branches that do not apply may have named other objects too.
  return dropped.length > MAX_TRIES ? current : restored(request, nullRemoves, dropped, current)
}

/**
 * Merges the settings, with `null` for a secret as sent if the schema allows it, and else with its property removed.
 * Drops secrets of omitted objects only if nothing else makes the settings valid. If nothing does, the errors are those
 * of the settings as sent.
 */
export const mergeToValid = (request: MergeRequest): Validated => {
  const asSent = validated(request, false, [])
  if (asSent.invalid.length === 0 || asSent.errors.length > 0) return asSent
  const withoutNulls = validated(request, true, [])
  if (withoutNulls.invalid.length === 0) return withoutNulls
  if (asSent.retainedObjects.length === 0) return asSent
  for (const nullRemoves of [false, true]) {
    const dropped = droppedToValid(request, nullRemoves)
    if (dropped.invalid.length === 0) return dropped
  }
  return asSent
}
