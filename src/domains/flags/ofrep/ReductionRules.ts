/** Reduces flags to the rules of one instance: it decides the conditions on facts of the service. Pure. */
import { nearestNumber } from "../../../kernel/values/Decimal.ts"
import { FACTS, holds, isFact, readPath } from "../../../offline/Flags.ts"
import type { FlagRule, FlagTargeting, Served } from "../../../offline/Flags.ts"
import type { InstanceSubject } from "../../instances/Model.ts"
import type { Standing } from "../../usage/check/Model.ts"
import { FALLBACK_PROPERTY } from "../Model.ts"
import type { Condition, EvaluatedFlag, FeatureFlag, Targeting } from "../Model.ts"

/** What conditions can name of an instance, below `keyshelf`. */
export interface Facts {
  readonly instance?: { readonly slug: string }
  readonly customer?: { readonly slug: string }
  readonly license?: { readonly slug: string; readonly family: string; readonly type: string }
  readonly zone?: { readonly slug: string; readonly type: string } | null
  readonly release?: { readonly version: string } | null
  /** What is granted, by slug, whether or not the license is running. */
  readonly entitlements: Readonly<Record<string, unknown>>
}

/** The facts that the conditions of flags name: whether any of the instance, and the entitlements. */
interface NamedFacts {
  readonly ofInstance: boolean
  readonly entitlements: ReadonlyArray<string>
}

const ENTITLEMENTS = `${FACTS}.entitlements.`

/** The facts that flags need; `undefined` for none, so that nothing is read. */
export const namedFacts = (flags: ReadonlyArray<EvaluatedFlag>): NamedFacts | undefined => {
  const attributes = flags.flatMap(({ enabled, targetings }) =>
    enabled ? targetings.flatMap(({ conditions }) => conditions.map(({ attribute }) => attribute).filter(isFact)) : [],
  )
  if (attributes.length === 0) return undefined
  const isOfEntitlement = (attribute: string): boolean => attribute.startsWith(ENTITLEMENTS)
  const slugs = attributes
    .filter(isOfEntitlement)
    .map((attribute) => attribute.slice(ENTITLEMENTS.length).split(".", 1)[0] ?? "")
  return { ofInstance: !attributes.every(isOfEntitlement), entitlements: [...new Set(slugs)] }
}

/** The facts of an instance. What was not read is not named either. */
export const factsOf = (subject: InstanceSubject | undefined, standings: ReadonlyArray<Standing>): Facts => {
  const entitlements = Object.fromEntries(
    standings.flatMap(({ answer, granted, type }) =>
      granted === null
        ? []
        : [[answer.entitlement, type === "NUMBER" ? nearestNumber(granted as number) : granted] as const],
    ),
  )
  if (subject === undefined) return { entitlements }
  const { customer, license, release, slug, zone } = subject
  return {
    instance: { slug },
    customer: { slug: customer.slug },
    license: { slug: license.slug, family: license.family, type: license.type },
    zone: zone === null ? null : { slug: zone.slug, type: zone.type },
    release: release === null ? null : { version: release.version },
    entitlements,
  }
}

/** Selects the metadata to return: OFREP allows only strings, numbers and booleans. The fallback is not metadata. */
const publicMetadata = (metadata: FeatureFlag["metadata"]): FlagRule["metadata"] =>
  Object.fromEntries(
    Object.entries(metadata).filter(
      (entry): entry is [string, string | number | boolean] =>
        entry[0] !== FALLBACK_PROPERTY && ["string", "number", "boolean"].includes(typeof entry[1]),
    ),
  )

// Without a fallback there is no value. OFREP defines this as "use the default in the code".
const fallbackOf = ({ metadata }: EvaluatedFlag): Served => {
  const fallback = metadata[FALLBACK_PROPERTY] ?? null
  return fallback === null ? {} : { value: fallback }
}

const servedVariant = (flag: EvaluatedFlag, name: string | null): Served => {
  const variant = flag.variants.find((candidate) => candidate.name === name)
  return variant === undefined ? fallbackOf(flag) : { value: variant.value, variant: variant.name }
}

const isFactual = ({ attribute }: Condition): boolean => isFact(attribute)

/** The conditions that depend on the caller; `undefined` if one on facts does not hold. */
const openConditions = (
  conditions: Targeting["conditions"],
  known: Readonly<Record<string, unknown>>,
): Targeting["conditions"] | undefined => {
  // Most targetings name no facts.
  if (!conditions.some(isFactual)) return conditions
  const isPossible = conditions.every(
    (condition) => !isFactual(condition) || holds(condition, readPath(known, condition.attribute)),
  )
  return isPossible ? conditions.filter((condition) => !isFactual(condition)) : undefined
}

/**
 * The rule of a flag. A disabled flag always serves its fallback. Otherwise the first targeting that matches decides; if none
 * does, the default variant is served; without a default variant, the fallback. Conditions on facts are decided here and
 * removed, a targeting that cannot match is left out, and one that always matches ends the list. Without facts, as without an
 * instance, attributes of facts are missing.
 */
export const reduce = (flag: EvaluatedFlag, facts?: Facts): FlagRule => {
  const { key } = flag
  const metadata = publicMetadata(flag.metadata)
  if (!flag.enabled) return { key, metadata, targetings: [], otherwise: { ...fallbackOf(flag), reason: "DISABLED" } }
  const known = { [FACTS]: facts }
  const targetings: Array<FlagTargeting> = []
  for (const { conditions: all, name, percentage = null, variant } of flag.targetings) {
    const conditions = openConditions(all, known)
    if (conditions === undefined) continue
    const served = servedVariant(flag, variant)
    if (percentage !== null) targetings.push({ name, conditions, percentage, ...served })
    else if (conditions.length > 0) targetings.push({ name, conditions, ...served })
    else return { key, metadata, targetings, otherwise: { ...served, reason: "TARGETING_MATCH" } }
  }
  return { key, metadata, targetings, otherwise: { ...servedVariant(flag, flag.defaultVariant), reason: "STATIC" } }
}
