/**
 * Plans license families: versions with their grants. Pure.
 *
 * A new version is created as a draft, gets its grants, and is published last, so that an apply that stops halfway
 * leaves a draft that the next one completes. The terms of a published version are never changed, because customers
 * rely on them.
 */
import { currentDefaultOf, releaseSteps, removalSteps } from "./LicenseLifecycle.ts"
import { defaultOverage, grantChanges, grantsOf, grantSteps } from "./Grants.ts"
import { emptyPlan, joined, lastChangeOf } from "../Plan.ts"
import type { Change, Place, Plan, PlanOptions, Properties, Refusal, Step, Subject } from "../Plan.ts"
import { additions, bodyOf, changesBetween, pick, withDefaults } from "../Values.ts"
import type { EntriesOf, EntryOf, StoredVersion } from "../Stored.ts"
import { DEFAULT_AWAY } from "../../../../domains/licenses/Model.ts"
import type { LifecycleState } from "../../../../domains/licenses/Model.ts"
import type { Release } from "./LicenseLifecycle.ts"

const SECTION = "licenseFamilies"
/** The path of all versions. */
export const LICENSES = "/api/licenses"

type Families = EntriesOf<"licenseFamilies">
/** A version of the file. */
type Version = EntryOf<"licenseFamilies">["versions"][number]
type Versions = ReadonlyMap<string, StoredVersion>

const required = ["slug", "name", "type"] as const satisfies ReadonlyArray<keyof Version>
const defaults = {
  description: null,
  versionName: null,
  graceDays: 0,
  away: DEFAULT_AWAY,
} as const satisfies Partial<Version>

/** The properties of a version that its customers rely on, without its grants. */
const termsOf = (version: Version | StoredVersion): Properties => ({
  ...pick(version, required),
  ...withDefaults(version, defaults),
  away: { ...DEFAULT_AWAY, ...version.away },
})

const stateOf = ({ lifecycleState = "PUBLISHED" }: Version | StoredVersion): LifecycleState => lifecycleState

const pathOf = (slug: string): string => `${LICENSES}/${encodeURIComponent(slug)}`

interface Entry {
  readonly family: string
  readonly version: Version
  readonly place: Place
  /** What must exist before the version can be created: the version before it. */
  readonly after: ReadonlyArray<string>
  /** Whether the version opens its family. */
  readonly isFirst: boolean
}

const subjectOf = (slug: string, stored: StoredVersion | undefined, options: PlanOptions): Subject => ({
  section: SECTION,
  noun: "license version",
  name: slug,
  lastChange: stored === undefined ? undefined : lastChangeOf(stored, options),
})

const creation = (subject: Subject, { after, family, isFirst, place, version }: Entry): Step => {
  const terms = termsOf(version)
  const familySlug = isFirst ? {} : { familySlug: family }
  return {
    ...subject,
    action: "create",
    method: "POST",
    path: LICENSES,
    body: { ...terms, ...familySlug, lifecycleState: "DRAFT" },
    changes: [
      ...additions({ ...terms, ...familySlug }, defaults),
      { property: "lifecycleState", before: undefined, after: "DRAFT" },
    ],
    place,
    provides: `licenses/${subject.name}`,
    requires: after,
    isRemoval: false,
    hasDryRun: false,
  }
}

/** The steps that make a draft what the file says. */
const draftSteps = (entry: Entry, stored: StoredVersion | undefined, options: PlanOptions): ReadonlyArray<Step> => {
  const { slug } = entry.version
  const subject = subjectOf(slug, stored, options)
  const grants = grantSteps(subject, pathOf(slug), entry.place, stored, entry.version)
  if (stored === undefined) return [creation(subject, entry), ...grants]
  const changes = changesBetween(termsOf(stored), termsOf(entry.version))
  if (changes.length === 0) return grants
  const update: Step = {
    ...subject,
    action: "update",
    method: "PUT",
    path: pathOf(slug),
    body: { ...bodyOf(changes), updatedAt: stored.updatedAt },
    changes,
    place: entry.place,
    requires: [],
    isRemoval: false,
    hasDryRun: true,
  }
  return [update, ...grants]
}

const differenceText = ({ after, before, property }: Change): string =>
  `${property} is ${JSON.stringify(before) ?? "not granted"}, the file says ${JSON.stringify(after) ?? "nothing"}`

const refusal = (entry: Entry, subject: Subject, message: string): Plan => {
  const refused: Refusal = { ...subject, place: entry.place, message }
  return { ...emptyPlan, refusals: [refused] }
}

const refuseChanges = (entry: Entry, subject: Subject, state: string, changes: ReadonlyArray<Change>): Plan =>
  refusal(
    entry,
    subject,
    `The version is ${state.toLowerCase()}, so its terms are not changed: ${changes.map(differenceText).join("; ")}. Restore them in the file and add a new version with the new terms to its family, or let the changes go to a new draft with \`changesAsDraft: <slug of the draft>\`.`,
  )

/** The terms of a published version with changes, as the draft that the file names. */
const planDraftOfChanges = (entry: Entry, changesAsDraft: string, versions: Versions, options: PlanOptions): Plan => {
  const version: Version = { ...entry.version, slug: changesAsDraft, lifecycleState: "DRAFT" }
  const stored = versions.get(changesAsDraft)
  const draft: Entry = { ...entry, version, after: [], isFirst: false }
  const changes = stored === undefined ? [] : differences(stored, version)
  if (stored === undefined || stateOf(stored) === "DRAFT" || changes.length === 0) {
    return { ...emptyPlan, steps: draftSteps(draft, stored, options) }
  }
  return refuseChanges(draft, subjectOf(changesAsDraft, stored, options), stateOf(stored), changes)
}

const differences = (stored: StoredVersion, version: Version): ReadonlyArray<Change> => [
  ...changesBetween(termsOf(stored), termsOf(version)),
  ...grantChanges(stored, version),
]

const planVersion = (entry: Entry, listed: ReadonlySet<string>, versions: Versions, options: PlanOptions): Plan => {
  const { version } = entry
  const { slug } = version
  const stored = versions.get(slug)
  if (stored === undefined) return { ...emptyPlan, steps: draftSteps(entry, stored, options) }
  const subject = subjectOf(slug, stored, options)
  if (stored.familySlug !== entry.family) {
    return refusal(
      entry,
      subject,
      `The version belongs to the family ${stored.familySlug} in the service. Move it there in the file, or give the new version another slug.`,
    )
  }
  const state = stateOf(stored)
  if (state === "DRAFT") return { ...emptyPlan, steps: draftSteps(entry, stored, options) }
  if (stateOf(version) === "DRAFT") {
    return refusal(
      entry,
      subject,
      `The version is ${state.toLowerCase()}, and cannot become a draft again. Set lifecycleState to PUBLISHED or ARCHIVED, or add a new version.`,
    )
  }
  const changes = differences(stored, version)
  if (changes.length === 0) return emptyPlan
  const draft = version.changesAsDraft
  return draft !== undefined && !listed.has(draft)
    ? planDraftOfChanges(entry, draft, versions, options)
    : refuseChanges(entry, subject, state, changes)
}

/** The entries of the file, each with what must exist before it. */
const entriesOf = (families: Families, versions: Versions): ReadonlyArray<ReadonlyArray<Entry>> => {
  const known = new Set([...versions.values()].map(({ familySlug }) => familySlug))
  return families.map(({ slug: family, versions: all }, index) =>
    all.map((version, at) => ({
      family,
      version,
      place: [SECTION, index, "versions", at],
      after: all
        .slice(0, at)
        .slice(-1)
        .map(({ slug }) => `licenses/${slug}`),
      isFirst: at === 0 && !known.has(family),
    })),
  )
}

const planFamily = (
  entries: ReadonlyArray<Entry>,
  listed: ReadonlySet<string>,
  versions: Versions,
  options: PlanOptions,
): Plan => {
  const [first] = entries
  if (first === undefined) return emptyPlan
  const defaultEntries = entries.filter(({ version }) => version.isDefault === true)
  const wrong = [
    ...(first.isFirst && first.version.slug !== first.family
      ? [{ entry: first, message: `The first version of a new family has the slug of the family: ${first.family}.` }]
      : []),
    ...defaultEntries
      .slice(1)
      .map((entry) => ({ entry, message: "Another version of the family is the default already. Only one can be." })),
    ...defaultEntries
      .filter(({ version }) => stateOf(version) !== "PUBLISHED")
      .map((entry) => ({ entry, message: "Only a published version can be the default." })),
  ]
  if (wrong.length > 0) {
    return joined(
      wrong.map(({ entry, message }) => refusal(entry, subjectOf(entry.version.slug, undefined, options), message)),
    )
  }
  const terms = joined(entries.map((entry) => planVersion(entry, listed, versions, options)))
  const releases = entries.map(({ place, version }): Release => {
    const { slug } = version
    const stored = versions.get(slug)
    return {
      subject: subjectOf(slug, stored, options),
      path: pathOf(slug),
      place,
      stored,
      isTouched: terms.steps.some(({ name }) => name === slug),
      state: stateOf(version),
      isDefault: version.isDefault === true,
    }
  })
  const ofFamily = [...versions.values()].filter(({ familySlug }) => familySlug === first.family)
  return joined([terms, { ...emptyPlan, steps: releaseSteps(releases, currentDefaultOf(ofFamily)) }])
}

export const planLicenses = (families: Families, records: ReadonlyArray<StoredVersion>, options: PlanOptions): Plan => {
  const versions = new Map(records.map((record) => [record.slug, record]))
  const entries = entriesOf(families, versions)
  const listed = new Set(entries.flat().map(({ version }) => version.slug))
  const named = new Set(entries.flat().map(({ version }) => version.changesAsDraft))
  const plan = joined(entries.map((family) => planFamily(family, listed, versions, options)))
  // An archived version is no longer sold: pruning leaves it.
  const others = records.filter(
    (record) => !listed.has(record.slug) && !named.has(record.slug) && stateOf(record) !== "ARCHIVED",
  )
  const subjects = others.map((record) => subjectOf(record.slug, record, options))
  if (!options.prune) return joined([plan, { ...emptyPlan, unlisted: subjects }])
  const newDefaults = new Set(
    entries
      .filter((family) => family.some(({ version }) => version.isDefault === true))
      .map(([first]) => first?.family),
  )
  const removals = others.flatMap((record, index) =>
    removalSteps(subjects[index] as Subject, pathOf(record.slug), record, newDefaults.has(record.familySlug)),
  )
  return joined([plan, { ...emptyPlan, steps: removals }])
}

const versionEntry = (record: StoredVersion): Version => {
  const { slug, name, type } = record
  const grants = [...grantsOf(record)].map(([entitlementSlug, { overagePercent, ...grant }]) => ({
    entitlementSlug,
    ...grant,
    ...(overagePercent === defaultOverage(record) ? {} : { overagePercent }),
  }))
  return {
    slug,
    name,
    type,
    ...bodyOf(changesBetween(defaults, withDefaults(record, defaults))),
    ...(record.isDefault ? { isDefault: true } : {}),
    ...(stateOf(record) === "PUBLISHED" ? {} : { lifecycleState: stateOf(record) }),
    ...(grants.length === 0 ? {} : { grants }),
  }
}

/** Families as the file has them, from versions that are sorted by their age. */
export const familyEntriesOf = (records: ReadonlyArray<StoredVersion>): Families => {
  const families = new Map<string, ReadonlyArray<Version>>()
  for (const record of records) {
    families.set(record.familySlug, [...(families.get(record.familySlug) ?? []), versionEntry(record)])
  }
  return [...families].map(([slug, versions]) => ({ slug, versions }))
}
