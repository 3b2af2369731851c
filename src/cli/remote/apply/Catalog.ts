/** Plans a whole file, and writes a file of the existing records. Pure. */
import { sections } from "../../../api/CatalogFile.ts"
import type { CatalogFile, Section } from "../../../api/CatalogFile.ts"
import { connectorEntriesOf, planConnectors } from "./kinds/Connectors.ts"
import { groupEntryOf, planGroups } from "./kinds/Groups.ts"
import { familyEntriesOf, planLicenses } from "./kinds/Licenses.ts"
import { entitlements, featureFlags, metadataFields, webhooks } from "./kinds/RecordKinds.ts"
import { entryOf, planRecords, presentOf } from "./kinds/Records.ts"
import type { RecordKind, RecordSection } from "./kinds/Records.ts"
import { joined } from "./Plan.ts"
import type { Plan, PlanOptions, Step } from "./Plan.ts"
import { checkReferences } from "./References.ts"
import type { EntriesOf, Stored, StoredOf } from "./Stored.ts"

interface Planner<S extends Section> {
  readonly plan: (entries: EntriesOf<S>, records: ReadonlyArray<StoredOf<S>>, options: PlanOptions) => Plan
  readonly entries: (records: ReadonlyArray<StoredOf<S>>) => EntriesOf<S>
}

const simple = <S extends RecordSection>(kind: RecordKind<S>): Planner<S> => ({
  plan: (entries, records, options) => planRecords(kind, entries, records, options),
  entries: (records) => presentOf(kind, records).map((record) => entryOf(kind, record)) as unknown as EntriesOf<S>,
})

const planners: { readonly [S in Section]: Planner<S> } = {
  metadataFields: simple(metadataFields),
  entitlements: simple(entitlements),
  entitlementGroups: { plan: planGroups, entries: (records) => records.map(groupEntryOf) },
  licenseFamilies: { plan: planLicenses, entries: familyEntriesOf },
  featureFlags: simple(featureFlags),
  webhooks: simple(webhooks),
  connectors: { plan: planConnectors, entries: connectorEntriesOf },
}

/** Sections in their order. Removals come last, in the reverse order. */
const inOrder = (steps: ReadonlyArray<Step>): ReadonlyArray<Step> => [
  ...sections.flatMap((section) => steps.filter((step) => step.section === section && !step.isRemoval)),
  ...sections.toReversed().flatMap((section) => steps.filter((step) => step.section === section && step.isRemoval)),
]

const planSection = <S extends Section>(
  section: S,
  file: Pick<CatalogFile, S>,
  stored: Pick<Stored, S>,
  options: PlanOptions,
) => {
  const entries: CatalogFile[S] = file[section]
  const records: ReadonlyArray<StoredOf<S>> = stored[section] ?? []
  return entries === undefined ? [] : [planners[section].plan(entries, records, options)]
}

/** The changes that make the service match the file. Sections that the file omits stay unchanged. */
export const planOf = (file: CatalogFile, stored: Stored, options: PlanOptions): Plan => {
  const plans = sections.flatMap((section) => planSection(section, file, stored, options))
  const { steps, ...rest } = joined([checkReferences(file, stored.entitlements, options), ...plans])
  return { ...rest, steps: inOrder(steps) }
}

const sectionOf = <S extends Section>(section: S, stored: Stored): { readonly [_ in S]?: EntriesOf<S> } => {
  const records: ReadonlyArray<StoredOf<S>> | undefined = stored[section]
  return records === undefined ? {} : ({ [section]: planners[section].entries(records) } as { [_ in S]: EntriesOf<S> })
}

/** The file of the records of the service. */
export const fileOf = (stored: Stored): CatalogFile =>
  Object.assign({}, ...sections.map((section) => sectionOf(section, stored)))
