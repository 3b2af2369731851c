/**
 * Edits of records. A form is open for a while, and others write too. So an edit remembers the record that the person saw, holds
 * only what the person changed, and never replaces what someone else stored in the meantime without a question.
 */
import { Problem } from "../Api.ts"
import { t } from "../texts.en.ts"
import { namesOfChanges, patched } from "./Change.ts"

/** A change of a record, as far as it depends on what is stored. */
export interface Edit<R, B extends object> {
  /** The record as the person saw it. */
  readonly seen: R
  /** What the change replaces, by its place in the body. */
  readonly replaces: (record: R) => object
  /** The body for a record that is stored. */
  readonly bodyFor: (record: R) => B
}

const objectIn = (body: object, name: string): object => Object(Reflect.get(body, name))

/** The edit that turns the body before into the one after; `undefined` if both are the same. */
export const editOf = <R, B extends object>({
  after,
  before,
  merged = [],
  seen,
  storedIn,
}: {
  readonly seen: R
  /** What the fields held at first, and what they hold now, as bodies. */
  readonly before: B
  readonly after: B
  /** The properties of a body as a record has them. */
  readonly storedIn: (record: R) => object
  /** Objects that are sent as a whole, but change key by key: other keys are sent as they are stored. */
  readonly merged?: ReadonlyArray<keyof B & string>
}): Edit<R, Partial<B>> | undefined => {
  const names = namesOfChanges(before, after)
  if (names.length === 0) return undefined
  const isMerged = (name: string) => merged.some((one) => one === name)
  const keysOf = (name: string) => namesOfChanges(objectIn(before, name), objectIn(after, name))
  return {
    seen,
    replaces: (record) => {
      const stored = storedIn(record)
      const values = names.flatMap((name) =>
        isMerged(name)
          ? keysOf(name).map((key) => [`${name}/${key}`, Reflect.get(objectIn(stored, name), key)] as const)
          : [[name, Reflect.get(stored, name)] as const],
      )
      return Object.fromEntries(values)
    },
    bodyFor: (record) => {
      const stored = storedIn(record)
      const values = names.map((name) => [
        name,
        isMerged(name)
          ? patched(objectIn(stored, name), objectIn(before, name), objectIn(after, name))
          : Reflect.get(after, name),
      ])
      return Object.fromEntries(values) as Partial<B>
    },
  }
}

const MAX_SHOWN = 200

const shown = (value: unknown): string => {
  if (value === null || value === undefined) return t.conflict.nothing
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text
}

/** Someone else changed what an edit would replace. */
export class Conflict<R = unknown> extends Problem {
  readonly stored: R

  constructor(stored: R, names: ReadonlyArray<string>, values: object) {
    const errors = names.map((name) => ({
      location: `body.${name}`,
      message: t.conflict.stored(shown(Reflect.get(values, name))),
    }))
    super(409, "Console.Conflict", t.conflict.title, t.conflict.detail, { errors })
    this.stored = stored
  }
}

/**
 * Reads the record again, and returns the body for it. The body has the record's `updatedAt`, so that the service refuses it if the
 * record changes after this. Records without one have no such guard.
 */
export const bodyOfEdit = async <R, B extends object>(edit: Edit<R, B>, read: () => Promise<R>): Promise<B> => {
  const stored = await read()
  const values = edit.replaces(stored)
  const names = namesOfChanges(edit.replaces(edit.seen), values)
  if (names.length > 0) throw new Conflict(stored, names, values)
  const body = edit.bodyFor(stored)
  const isGuarded = typeof stored === "object" && stored !== null && "updatedAt" in stored
  return isGuarded ? { ...body, updatedAt: stored.updatedAt } : body
}

/** Whether the record changed after it was read. */
export const isOutdated = (error: unknown): boolean =>
  error instanceof Problem && error.errors.some(({ location }) => location === "body.updatedAt")
