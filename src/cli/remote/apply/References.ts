/** Checks the references within a file: nothing is listed twice, and every name exists. Pure. */
import type { CatalogFile } from "../../../api/CatalogFile.ts"
import { emptyPlan } from "./Plan.ts"
import type { Place, Plan, PlanOptions, Refusal, Subject } from "./Plan.ts"
import type { Stored } from "./Stored.ts"

interface Named {
  readonly subject: Subject
  readonly place: Place
  /** What must not occur twice. */
  readonly key: string
}

const named = (
  section: Subject["section"],
  noun: string,
  names: ReadonlyArray<{ readonly name: string; readonly place: Place }>,
): ReadonlyArray<Named> =>
  names.map(({ name, place }) => ({ subject: { section, noun, name }, place, key: `${noun}/${name}` }))

const namesOf = (file: CatalogFile): ReadonlyArray<Named> => [
  ...named(
    "metadataFields",
    "metadata field",
    (file.metadataFields ?? []).map(({ key, resourceType }, index) => ({
      name: `${resourceType} ${key}`,
      place: ["metadataFields", index, "key"],
    })),
  ),
  ...named(
    "entitlements",
    "entitlement",
    (file.entitlements ?? []).map(({ slug }, index) => ({ name: slug, place: ["entitlements", index, "slug"] })),
  ),
  ...named(
    "entitlementGroups",
    "entitlement group",
    (file.entitlementGroups ?? []).map(({ slug }, index) => ({
      name: slug,
      place: ["entitlementGroups", index, "slug"],
    })),
  ),
  ...named(
    "licenseFamilies",
    "license family",
    (file.licenseFamilies ?? []).map(({ slug }, index) => ({ name: slug, place: ["licenseFamilies", index, "slug"] })),
  ),
  ...named(
    "licenseFamilies",
    "license version",
    (file.licenseFamilies ?? []).flatMap(({ versions }, index) =>
      versions.map(({ slug }, at) => ({ name: slug, place: ["licenseFamilies", index, "versions", at, "slug"] })),
    ),
  ),
  ...named(
    "featureFlags",
    "feature flag",
    (file.featureFlags ?? []).map(({ key }, index) => ({ name: key, place: ["featureFlags", index, "key"] })),
  ),
  ...named(
    "connectors",
    "connector",
    (file.connectors ?? []).map(({ connectorName }, index) => ({
      name: connectorName,
      place: ["connectors", index, "connectorName"],
    })),
  ),
]

interface Reference {
  readonly subject: Subject
  readonly place: Place
  readonly entitlement: string
}

/** Where the file names entitlements. */
const referencesOf = (file: CatalogFile): ReadonlyArray<Reference> => [
  ...(file.entitlementGroups ?? []).flatMap(({ entitlementSlugs = [], slug }, index) =>
    entitlementSlugs.map((entitlement, at): Reference => ({
      subject: { section: "entitlementGroups", noun: "entitlement group", name: slug },
      place: ["entitlementGroups", index, "entitlementSlugs", at],
      entitlement,
    })),
  ),
  ...(file.licenseFamilies ?? []).flatMap(({ versions }, index) =>
    versions.flatMap(({ grants = [], slug }, version) =>
      grants.map(({ entitlementSlug }, at): Reference => ({
        subject: { section: "licenseFamilies", noun: "license version", name: slug },
        place: ["licenseFamilies", index, "versions", version, "grants", at, "entitlementSlug"],
        entitlement: entitlementSlug,
      })),
    ),
  ),
]

const repeated = <A>(items: ReadonlyArray<A>, keyOf: (item: A) => string): ReadonlyArray<A> => {
  const seen = new Set<string>()
  return items.filter((item) => {
    const isRepeated = seen.has(keyOf(item))
    seen.add(keyOf(item))
    return isRepeated
  })
}

/** Rejects duplicates, and entitlements that neither the file nor the service has. */
export const checkReferences = (
  file: CatalogFile,
  entitlements: Stored["entitlements"],
  { prune }: PlanOptions,
): Plan => {
  const references = referencesOf(file)
  const twice = [
    ...repeated(namesOf(file), ({ key }) => key),
    ...repeated(
      references,
      ({ entitlement, place }) =>
        `${place.slice(0, -1 - Number(place.at(-1) === "entitlementSlug")).join("/")}/${entitlement}`,
    ),
  ].map(({ place, subject }): Refusal => ({ ...subject, place, message: "The file lists this twice. Remove one." }))
  const listed = new Set((file.entitlements ?? []).map(({ slug }) => slug))
  const stored = new Set((entitlements ?? []).map(({ slug }) => slug))
  // Entitlements that the file does not manage are not read: the service rejects an unknown one.
  const unknown =
    file.entitlements === undefined ? [] : references.filter(({ entitlement }) => !listed.has(entitlement))
  const missing = unknown.flatMap(({ entitlement, place, subject }): ReadonlyArray<Refusal> => {
    if (stored.has(entitlement) && !prune) return []
    const why = stored.has(entitlement)
      ? `--prune removes the entitlement ${entitlement}`
      : `There is no entitlement ${entitlement}`
    return [
      {
        ...subject,
        place,
        message: `${why}, because \`entitlements\` does not list it. Add it there, or remove it here.`,
      },
    ]
  })
  return { ...emptyPlan, refusals: [...twice, ...missing] }
}
