/** Plans a whole file, and writes the file of what there is. Pure. */
import { sections } from "../../../api/CatalogFile.ts"
import type { CatalogFile, Section } from "../../../api/CatalogFile.ts"
import { connectorEntriesOf, planConnectors } from "./kinds/Connectors.ts"
import type { StoredConnector } from "./kinds/Connectors.ts"
import { groupEntryOf, planGroups } from "./kinds/Groups.ts"
import { familyEntriesOf, planLicenses } from "./kinds/Licenses.ts"
import { entitlements, featureFlags, metadataFields, webhooks } from "./kinds/RecordKinds.ts"
import { entryOf, planRecords, presentOf } from "./kinds/Records.ts"
import type { RecordKind } from "./kinds/Records.ts"
import { joined } from "./Plan.ts"
import type { Plan, PlanOptions, Properties, Step } from "./Plan.ts"
import { checkReferences } from "./References.ts"

type Records = ReadonlyArray<Properties>

/** The records of the service, oldest first, of the sections that were read. A license version has its `grants`. */
export type Stored = Readonly<Partial<Record<Section, Records>>>

interface Planner {
  readonly plan: (entries: Records, records: Records, options: PlanOptions) => Plan
  readonly entries: (records: Records) => Records
}

const simple = (kind: RecordKind): Planner => ({
  plan: (entries, records, options) => planRecords(kind, entries, records, options),
  entries: (records) => presentOf(kind, records).map((record) => entryOf(kind, record)),
})

const planners: Readonly<Record<Section, Planner>> = {
  metadataFields: simple(metadataFields),
  entitlements: simple(entitlements),
  entitlementGroups: { plan: planGroups, entries: (records) => records.map(groupEntryOf) },
  licenseFamilies: { plan: planLicenses, entries: familyEntriesOf },
  featureFlags: simple(featureFlags),
  webhooks: simple(webhooks),
  connectors: {
    plan: (entries, records, options) =>
      planConnectors(entries, records as unknown as ReadonlyArray<StoredConnector>, options),
    entries: (records) => connectorEntriesOf(records as unknown as ReadonlyArray<StoredConnector>),
  },
}

/** Sections in their order, and what is removed last and in the reverse order. */
const inOrder = (steps: ReadonlyArray<Step>): ReadonlyArray<Step> => [
  ...sections.flatMap((section) => steps.filter((step) => step.section === section && !step.isRemoval)),
  ...sections.toReversed().flatMap((section) => steps.filter((step) => step.section === section && step.isRemoval)),
]

/** What has to be done so that the service has what the file says. Sections that the file does not have stay as they are. */
export const planOf = (file: CatalogFile, stored: Stored, options: PlanOptions): Plan => {
  const plans = sections.flatMap((section) => {
    const entries = file[section]
    return entries === undefined ? [] : [planners[section].plan(entries, stored[section] ?? [], options)]
  })
  const { steps, ...rest } = joined([checkReferences(file, stored.entitlements, options), ...plans])
  return { ...rest, steps: inOrder(steps) }
}

/** The file of the records of the service. */
export const fileOf = (stored: Stored): Readonly<Partial<Record<Section, Records>>> =>
  Object.fromEntries(
    sections.flatMap((section) => {
      const records = stored[section]
      return records === undefined ? [] : [[section, planners[section].entries(records)]]
    }),
  )
