/** Plans the records that are created, changed and removed by one request each. Pure. */
import type { Section } from "../../../../api/CatalogFile.ts"
import { emptyPlan, lastChangeOf } from "../Plan.ts"
import type { Change, Place, Plan, PlanOptions, Properties, Step, Subject } from "../Plan.ts"
import { additions, bodyOf, changesBetween, pick, withDefaults } from "../Values.ts"

/** How records of a kind are written, compared and removed. */
export interface RecordKind {
  readonly section: Section
  /** As texts name one record. */
  readonly noun: string
  /** The path of the list. */
  readonly path: string
  /** What finds a record again, in the file and in the service. */
  readonly keyOf: (record: Properties) => string
  /** Properties that every record has. */
  readonly required: ReadonlyArray<string>
  /** The other properties, with the values that they have if the file does not say. */
  readonly defaultsOf: (record: Properties) => Properties
  /** Properties that cannot change. */
  readonly immutable: ReadonlyArray<string>
  /** The last part of the path of a record. */
  readonly idOf: (record: Properties) => string
  readonly method: "PUT" | "PATCH"
  /** How a record is taken away that the file does not have. */
  readonly removal: { readonly action: string; readonly method: "DELETE" | "POST"; readonly suffix: string }
  readonly hasDryRun: { readonly update: boolean; readonly removal: boolean }
  /** Whether a record counts as one that does not exist, such as an archived field. */
  readonly isGone?: (record: Properties) => boolean
  /** The one way to write values that are equal to the service. */
  readonly canonical?: (record: Properties) => Properties
}

/** The records of the service that the plan is about. */
export const presentOf = ({ isGone = () => false }: RecordKind, records: ReadonlyArray<Properties>) =>
  records.filter((record) => !isGone(record))

/**
 * The keys of records in their order. A key that occurs again gets a number, because the service allows several webhook endpoints with
 * one URL.
 */
const keysOf = (kind: RecordKind, records: ReadonlyArray<Properties>): ReadonlyArray<string> => {
  const counts = new Map<string, number>()
  return records.map((record) => {
    const key = kind.keyOf(record)
    const count = (counts.get(key) ?? 0) + 1
    counts.set(key, count)
    return count === 1 ? key : `${key} (${count})`
  })
}

/** All properties of a record that the file decides on. */
const managedOf = (kind: RecordKind, record: Properties): Properties => {
  const defaults = kind.defaultsOf(record)
  const managed = { ...pick(record, kind.required), ...withDefaults(record, defaults) }
  return kind.canonical?.(managed) ?? managed
}

/** A record as the file has it: without what is the default. */
export const entryOf = (kind: RecordKind, record: Properties): Properties => {
  const managed = managedOf(kind, record)
  return bodyOf([
    ...additions(pick(managed, kind.required)),
    ...changesBetween(kind.defaultsOf(record), managed).filter(({ property }) => !kind.required.includes(property)),
  ])
}

const subjectOf = ({ noun, section }: RecordKind, name: string): Subject => ({ section, noun, name })

const creation = (kind: RecordKind, name: string, place: Place, wanted: Properties): Step => ({
  ...subjectOf(kind, name),
  action: "create",
  method: "POST",
  path: kind.path,
  body: wanted,
  changes: additions(wanted, kind.defaultsOf(wanted)),
  place,
  provides: `${kind.section}/${name}`,
  requires: [],
  isRemoval: false,
  hasDryRun: false,
})

const pathOf = (kind: RecordKind, record: Properties): string => `${kind.path}/${encodeURIComponent(kind.idOf(record))}`

const planChange = (
  kind: RecordKind,
  subject: Subject,
  place: Place,
  stored: Properties,
  changes: ReadonlyArray<Change>,
): Plan => {
  const frozen = changes.filter(({ property }) => kind.immutable.includes(property))
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
    // A record that has changed since it was read has another time, and the service refuses the request.
    body: { ...bodyOf(changes), updatedAt: stored["updatedAt"] },
    changes,
    place,
    requires: [],
    isRemoval: false,
    hasDryRun: kind.hasDryRun.update,
  }
  return { ...emptyPlan, steps: [step] }
}

const removalOf = (kind: RecordKind, subject: Subject, stored: Properties): Step => ({
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
export const planRecords = (
  kind: RecordKind,
  entries: ReadonlyArray<Properties>,
  records: ReadonlyArray<Properties>,
  options: PlanOptions,
): Plan => {
  const present = presentOf(kind, records)
  const keys = keysOf(kind, present)
  const stored = new Map(keys.map((key, index) => [key, present[index] as Properties]))
  const wantedKeys = keysOf(kind, entries)
  const subjectWith = (name: string, record: Properties): Subject => ({
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
