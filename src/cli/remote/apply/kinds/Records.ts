/** Plans the records that are created, changed and removed by one request each. Pure. */
import type { Section } from "../../../../api/CatalogFile.ts"
import { emptyPlan, lastChangeOf } from "../Plan.ts"
import type { Change, Place, Plan, PlanOptions, Step, Subject } from "../Plan.ts"
import type { EntryOf, StoredOf } from "../Stored.ts"
import { additions, bodyOf, changesBetween, pick, withDefaults } from "../Values.ts"

/** The sections whose records are created, changed and removed by one request each. */
export type RecordSection = Exclude<Section, "licenseFamilies" | "connectors">

/** A record of the file or of the service. */
type RecordOf<S extends Section> = EntryOf<S> | StoredOf<S>

type PropertyOf<S extends Section> = Extract<keyof EntryOf<S>, string>

/** How records of a kind are written, compared and removed. */
export interface RecordKind<S extends RecordSection> {
  readonly section: S
  /** The noun for one record in messages. */
  readonly noun: string
  /** The path of the list. */
  readonly path: string
  /** The key that identifies a record in the file and in the service. */
  readonly keyOf: (record: RecordOf<S>) => string
  /** Properties that every record has. */
  readonly required: ReadonlyArray<PropertyOf<S>>
  /** The other properties, with their defaults. */
  readonly defaultsOf: (record: RecordOf<S>) => Partial<EntryOf<S>>
  /** Properties that cannot change. */
  readonly immutable: ReadonlyArray<PropertyOf<S>>
  /** The last part of the path of a record. */
  readonly idOf: (record: StoredOf<S>) => string
  readonly method: "PUT" | "PATCH"
  /** How a record that the file does not have is removed. */
  readonly removal: { readonly action: string; readonly method: "DELETE" | "POST"; readonly suffix: string }
  readonly hasDryRun: { readonly update: boolean; readonly removal: boolean }
  /** Whether a record counts as one that does not exist, such as an archived field. */
  readonly isGone?: (record: StoredOf<S>) => boolean
  /** The normal form of values that the service treats as equal. */
  readonly canonical?: (entry: EntryOf<S>) => EntryOf<S>
}

/** The records of the service that the plan is about. */
export const presentOf = <S extends RecordSection>(
  { isGone = () => false }: RecordKind<S>,
  records: ReadonlyArray<StoredOf<S>>,
) => records.filter((record) => !isGone(record))

/**
 * The keys of records in their order. A key that occurs again gets a number, because the service allows several webhook endpoints with
 * one URL.
 */
const keysOf = <S extends RecordSection>(
  kind: RecordKind<S>,
  records: ReadonlyArray<RecordOf<S>>,
): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  return records.map((record) => {
    const key = kind.keyOf(record)
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    return count === 1 ? key : `${key} (${count})`
  })
}

/** All properties of a record that the file decides on. */
const managedOf = <S extends RecordSection>(kind: RecordKind<S>, record: RecordOf<S>): EntryOf<S> => {
  const defaults = kind.defaultsOf(record)
  // All that a kind names are properties of its entries.
  const managed = { ...pick(record, kind.required), ...withDefaults(record, defaults) } as unknown as EntryOf<S>
  return kind.canonical?.(managed) ?? managed
}

/** A record as the file has it: without defaults. */
export const entryOf = <S extends RecordSection>(kind: RecordKind<S>, record: StoredOf<S>): EntryOf<S> => {
  const managed = managedOf(kind, record)
  const required: ReadonlyArray<string> = kind.required
  return bodyOf([
    ...additions(pick(managed, required)),
    ...changesBetween(kind.defaultsOf(record), managed).filter(({ property }) => !required.includes(property)),
  ]) as unknown as EntryOf<S>
}

type AnyKind = Pick<RecordKind<RecordSection>, "section" | "noun" | "path" | "removal" | "hasDryRun" | "method">

const subjectOf = ({ noun, section }: AnyKind, name: string): Subject => ({ section, noun, name })

const creation = <S extends RecordSection>(
  kind: RecordKind<S>,
  name: string,
  place: Place,
  wanted: EntryOf<S>,
): Step => ({
  ...subjectOf(kind, name),
  action: "create",
  method: "POST",
  path: kind.path,
  body: { ...wanted },
  changes: additions(wanted, kind.defaultsOf(wanted)),
  place,
  provides: `${kind.section}/${name}`,
  requires: [],
  isRemoval: false,
  hasDryRun: false,
})

const pathOf = <S extends RecordSection>(kind: RecordKind<S>, record: StoredOf<S>): string =>
  `${kind.path}/${encodeURIComponent(kind.idOf(record))}`

const planChange = <S extends RecordSection>(
  kind: RecordKind<S>,
  subject: Subject,
  place: Place,
  stored: StoredOf<S>,
  changes: ReadonlyArray<Change>,
): Plan => {
  const immutable: ReadonlyArray<string> = kind.immutable
  const frozen = changes.filter(({ property }) => immutable.includes(property))
  if (frozen.length > 0) {
    const refusals = frozen.map(({ after, before, property }) => ({
      ...subject,
      place: [...place, property],
      message: `${property} cannot be changed, and is ${JSON.stringify(before)} in the service, not ${JSON.stringify(after)}. Set it to that, or add a new ${kind.noun} under another name.`,
    }))
    return { ...emptyPlan, refusals }
  }
  const step: Step = {
    ...subject,
    action: "update",
    method: kind.method,
    path: pathOf(kind, stored),
    // A record that has changed since it was read has another time, and the service rejects the request.
    body: { ...bodyOf(changes), updatedAt: stored.updatedAt },
    changes,
    place,
    requires: [],
    isRemoval: false,
    hasDryRun: kind.hasDryRun.update,
  }
  return { ...emptyPlan, steps: [step] }
}

const removalOf = <S extends RecordSection>(kind: RecordKind<S>, subject: Subject, stored: StoredOf<S>): Step => ({
  ...subject,
  action: kind.removal.action,
  method: kind.removal.method,
  path: pathOf(kind, stored) + kind.removal.suffix,
  changes: [],
  place: [kind.section],
  requires: [],
  isRemoval: true,
  hasDryRun: kind.hasDryRun.removal,
})

/** Plans the records of a section. */
export const planRecords = <S extends RecordSection>(
  kind: RecordKind<S>,
  entries: ReadonlyArray<EntryOf<S>>,
  records: ReadonlyArray<StoredOf<S>>,
  options: PlanOptions,
): Plan => {
  const present = presentOf(kind, records)
  const keys = keysOf(kind, present)
  const stored = new Map(keys.map((key, index) => [key, present[index] as StoredOf<S>]))
  const wantedKeys = keysOf(kind, entries)
  const subjectWith = (name: string, record: StoredOf<S>): Subject => ({
    ...subjectOf(kind, name),
    lastChange: lastChangeOf(record, options),
  })

  const plans = entries.map((entry, index): Plan => {
    const [name, place] = [wantedKeys[index] as string, [kind.section, index]]
    const found = stored.get(name)
    const wanted = managedOf(kind, entry)
    if (found === undefined) return { ...emptyPlan, steps: [creation(kind, name, place, wanted)] }
    const changes = changesBetween(managedOf(kind, found), wanted)
    return changes.length === 0 ? emptyPlan : planChange(kind, subjectWith(name, found), place, found, changes)
  })

  const others = [...stored].filter(([key]) => !wantedKeys.includes(key))
  const subjects = others.map(([key, record]) => subjectWith(key, record))
  return {
    steps: [
      ...plans.flatMap(({ steps }) => steps),
      ...(options.prune ? others.map(([key, record]) => removalOf(kind, subjectWith(key, record), record)) : []),
    ],
    refusals: plans.flatMap(({ refusals }) => refusals),
    unlisted: options.prune ? [] : subjects,
  }
}
