/** Plans entitlement groups: the records, then which entitlements they have. Pure. */
import { lastChangeOf } from "../Plan.ts"
import type { Plan, PlanOptions, Step } from "../Plan.ts"
import type { EntryOf, StoredOf } from "../Stored.ts"
import { entitlementGroups } from "./RecordKinds.ts"
import { entryOf, planRecords } from "./Records.ts"

type Entry = EntryOf<"entitlementGroups">
type Group = StoredOf<"entitlementGroups">

const membersOf = (record: Entry | Group | undefined): ReadonlyArray<string> => record?.entitlementSlugs ?? []

const membershipSteps = (
  entry: Entry,
  index: number,
  stored: Group | undefined,
  options: PlanOptions,
): ReadonlyArray<Step> => {
  const { slug } = entry
  const [before, after] = [membersOf(stored), membersOf(entry)]
  const path = `${entitlementGroups.path}/${encodeURIComponent(slug)}/entitlements`
  const step = {
    section: entitlementGroups.section,
    noun: entitlementGroups.noun,
    name: slug,
    lastChange: stored === undefined ? undefined : lastChangeOf(stored, options),
    isRemoval: false,
    hasDryRun: false,
  }
  const added = after.flatMap((entitlementSlug, member): ReadonlyArray<Step> =>
    before.includes(entitlementSlug)
      ? []
      : [
          {
            ...step,
            action: `add ${entitlementSlug}`,
            method: "POST",
            path,
            body: { entitlementSlug },
            changes: [{ property: "entitlementSlugs", before: undefined, after: entitlementSlug }],
            place: [entitlementGroups.section, index, "entitlementSlugs", member],
            requires: [`entitlementGroups/${slug}`, `entitlements/${entitlementSlug}`],
          },
        ],
  )
  const removed = before
    .filter((member) => !after.includes(member))
    .map((member): Step => ({
      ...step,
      action: `remove ${member}`,
      method: "DELETE",
      path: `${path}/${encodeURIComponent(member)}`,
      changes: [{ property: "entitlementSlugs", before: member, after: undefined }],
      place: [entitlementGroups.section, index],
      requires: [],
    }))
  return [...added, ...removed]
}

export const planGroups = (
  entries: ReadonlyArray<Entry>,
  records: ReadonlyArray<Group>,
  options: PlanOptions,
): Plan => {
  const plan = planRecords(entitlementGroups, entries, records, options)
  const memberships = entries.flatMap((entry, index) =>
    membershipSteps(
      entry,
      index,
      records.find(({ slug }) => slug === entry.slug),
      options,
    ),
  )
  return { ...plan, steps: [...plan.steps, ...memberships] }
}

/** A group as the file has it. */
export const groupEntryOf = (record: Group): Entry => {
  const members = membersOf(record)
  return { ...entryOf(entitlementGroups, record), ...(members.length === 0 ? {} : { entitlementSlugs: members }) }
}
