/** Plans what a draft version grants. Pure. */
import type { Combine, GrantValue, License } from "../../../../domains/licenses/Model.ts"
import type { Change, Place, Properties, Step, Subject } from "../Plan.ts"
import { bodyOf, changesBetween } from "../Values.ts"

/** What a version of the file or of the service grants. */
interface Granting {
  readonly type: License["type"]
  readonly grants?: ReadonlyArray<{
    readonly entitlementSlug: string
    readonly value: GrantValue
    readonly overagePercent?: number | null
    /** Of an add-on. The file may omit it: then it stays as it is. */
    readonly combine?: Combine
  }>
}

/** The overage of a grant that states none. */
export const defaultOverage = ({ type }: Pick<Granting, "type">): number | null => (type === "ADD_ON" ? null : 0)

/** Grants by the slug of their entitlement, in their order. */
export const grantsOf = (version: Granting | undefined) =>
  new Map(
    version?.grants?.map(({ combine, entitlementSlug, overagePercent = defaultOverage(version), value }) => [
      entitlementSlug,
      { value, overagePercent, ...(combine === undefined ? {} : { combine }) },
    ]),
  )

/** How the grants of two versions differ, each under `grants.<entitlement>`. */
export const grantChanges = (before: Granting | undefined, after: Granting): ReadonlyArray<Change> => {
  const [old, wanted] = [grantsOf(before), grantsOf(after)]
  return [...new Set([...wanted.keys(), ...old.keys()])].flatMap((slug) => {
    const [left, right] = [old.get(slug), wanted.get(slug)]
    const isEqual = left !== undefined && right !== undefined && changesBetween(left, right).length === 0
    return isEqual ? [] : [{ property: `grants.${slug}`, before: left, after: right }]
  })
}

/** The steps that give a version the grants of the file. Without `before`, an earlier step creates the version. */
export const grantSteps = (
  subject: Subject,
  path: string,
  place: Place,
  before: Granting | undefined,
  after: Granting,
): ReadonlyArray<Step> => {
  const order = [...grantsOf(after).keys()]
  return grantChanges(before, after).map((change): Step => {
    const slug = change.property.slice("grants.".length)
    const step = {
      ...subject,
      changes: [change],
      place: order.includes(slug) ? [...place, "grants", order.indexOf(slug)] : place,
      requires: [`licenses/${subject.name}`],
      isRemoval: false,
      hasDryRun: before !== undefined && change.before !== undefined,
    }
    const own = `${path}/entitlements/${encodeURIComponent(slug)}`
    if (change.after === undefined)
      return { ...step, action: `remove the grant of ${slug}`, method: "DELETE", path: own }
    const grant = change.after as Properties
    return change.before === undefined
      ? {
          ...step,
          action: `grant ${slug}`,
          method: "POST",
          path: `${path}/entitlements`,
          body: { entitlementSlug: slug, ...grant },
          requires: [...step.requires, `entitlements/${slug}`],
        }
      : {
          ...step,
          action: `change the grant of ${slug}`,
          method: "PUT",
          path: own,
          body: bodyOf(changesBetween(change.before as Properties, grant)),
        }
  })
}
