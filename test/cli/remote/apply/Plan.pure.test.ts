import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { CatalogFile } from "../../../../src/api/CatalogFile.ts"
import { fileOf, planOf } from "../../../../src/cli/remote/apply/Catalog.ts"
import type { Stored } from "../../../../src/cli/remote/apply/Stored.ts"
import type { Plan, PlanOptions } from "../../../../src/cli/remote/apply/Plan.ts"
import { after, nothing } from "./model.ts"

const options: PlanOptions = { prune: false, identityId: "me", env: {} }
const pruning: PlanOptions = { ...options, prune: true }

const small = (maximum: number) => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum }))
const some = <S extends Schema.Top>(schema: S) => Schema.Array(schema).check(Schema.isMaxLength(4))
const members = some(small(5))

/** What a random file is made of: numbers choose from few names, so that two files have much in common. */
const Seed = Schema.Struct({
  fields: some(Schema.Struct({ key: small(3), order: small(2) })),
  entitlements: some(Schema.Struct({ slug: small(5), order: small(2), isUserFacing: Schema.Boolean })),
  groups: some(Schema.Struct({ slug: small(3), members })),
  families: some(
    Schema.Struct({
      slug: small(2),
      versions: some(
        Schema.Struct({ number: small(4), state: small(2), grace: small(1), value: small(2), grants: members }),
      ),
      default: small(4),
    }),
  ),
  flags: some(Schema.Struct({ key: small(3), isEnabled: Schema.Boolean, percentage: small(1) })),
  webhooks: some(Schema.Struct({ url: small(2), events: small(1) })),
})
type Seed = typeof Seed.Type

const STATES = ["DRAFT", "PUBLISHED", "ARCHIVED"] as const

const distinct = <A>(items: ReadonlyArray<A>, keyOf: (item: A) => unknown): ReadonlyArray<A> =>
  items.filter((item, index) => items.findIndex((other) => keyOf(other) === keyOf(item)) === index)

const decode = Schema.decodeUnknownSync(CatalogFile, { onExcessProperty: "error" })

/** A valid file. */
const fileFrom = (seed: Seed): CatalogFile => {
  const entitlements = distinct(seed.entitlements, ({ slug }) => slug)
  const known = new Set(entitlements.map(({ slug }) => slug))
  const slugs = (numbers: ReadonlyArray<number>) =>
    [...new Set(numbers)].filter((number) => known.has(number)).map((number) => `e-${number}`)
  return decode({
    metadataFields: distinct(seed.fields, ({ key }) => key).map(({ key, order }) => ({
      key: `f${key}`,
      label: "F",
      resourceType: "INSTANCE",
      jsonSchema: { type: "string" },
      displayOrder: order,
    })),
    entitlements: entitlements.map(({ isUserFacing, order, slug }) => ({
      slug: `e-${slug}`,
      name: `E ${slug}`,
      type: "NUMBER",
      displayOrder: order,
      userFacing: isUserFacing,
    })),
    entitlementGroups: distinct(seed.groups, ({ slug }) => slug).map((group) => ({
      slug: `g-${group.slug}`,
      name: "G",
      entitlementSlugs: slugs(group.members),
    })),
    licenseFamilies: distinct(seed.families, ({ slug }) => slug).map((family) => {
      // The first version of a family is always the same one, because it names the family.
      const others = distinct(family.versions, ({ number }) => number).filter(({ number }) => number > 0)
      const first = { number: 0, state: 1, grace: 0, value: 1, grants: [] }
      return {
        slug: `l-${family.slug}`,
        versions: [first, ...others].map(({ grace, grants, number, state, value }) => ({
          slug: number === 0 ? `l-${family.slug}` : `l-${family.slug}-v${number}`,
          name: "L",
          type: "PAID",
          graceDays: grace,
          lifecycleState: STATES[state],
          isDefault: STATES[state] === "PUBLISHED" && family.default === number,
          grants: slugs(grants).map((entitlementSlug) => ({ entitlementSlug, value })),
        })),
      }
    }),
    featureFlags: distinct(seed.flags, ({ key }) => key).map(({ isEnabled, key, percentage }) => ({
      key: `flag${key}`,
      type: "boolean",
      enabled: isEnabled,
      variants: [{ name: "on", value: true }],
      targetings: [{ name: "T", conditions: [], variant: "on", percentage: percentage === 0 ? null : percentage }],
    })),
    webhooks: seed.webhooks.map(({ events, url }) => ({
      url: `https://example.com/${url}`,
      eventNames: events === 0 ? ["*"] : ["LICENSE_CREATED", "CUSTOMER_CREATION"],
    })),
  })
}

const namesOf = ({ steps }: Plan) => steps.map(({ action, name, noun }) => `${noun} ${name}: ${action}`)

const assertNothingToDo = (plan: Plan): void => {
  assert.deepStrictEqual([namesOf(plan), plan.refusals], [[], []])
}

/** The service after a file was applied to an empty one. */
const serviceWith = (file: CatalogFile): Stored => after(nothing, planOf(file, nothing, options).steps)

const assertOrdered = ({ steps }: Plan): void => {
  for (const [index, { requires }] of steps.entries()) {
    for (const name of requires) {
      const at = steps.findIndex(({ provides }) => provides === name)
      assert.isBelow(at, index, `${name} is used before it is created`)
    }
  }
  const firstRemoval = steps.findIndex(({ isRemoval }) => isRemoval)
  if (firstRemoval !== -1) assert.isTrue(steps.slice(firstRemoval).every(({ isRemoval }) => isRemoval))
}

describe("the plan of a catalogue", () => {
  it.prop("makes what the file says, so that a second plan is empty", { seed: Seed }, ({ seed }) => {
    const file = fileFrom(seed)
    const plan = planOf(file, nothing, options)
    assert.deepStrictEqual(plan.refusals, [])
    assertOrdered(plan)
    assertNothingToDo(planOf(file, after(nothing, plan.steps), pruning))
  })

  it.prop(
    "of an export is empty, and applying the export to an empty service makes the same one",
    { seed: Seed },
    ({ seed }) => {
      const service = serviceWith(fileFrom(seed))
      const exported = decode(structuredClone(fileOf(service)))
      assertNothingToDo(planOf(exported, service, pruning))
      assert.deepStrictEqual(fileOf(serviceWith(exported)), fileOf(service))
    },
  )

  it.prop(
    "leads from any catalogue to any other, unless that would change a published version",
    { from: Seed, to: Seed },
    ({ from, to }) => {
      const before = serviceWith(fileFrom(from))
      const file = fileFrom(to)
      for (const chosen of [options, pruning]) {
        const plan = planOf(file, before, chosen)
        assertOrdered(plan)
        if (plan.refusals.length > 0) {
          assert.isTrue(plan.refusals.every(({ section }) => section === "licenseFamilies"))
          continue
        }
        // The service keeps an entitlement that a version with customers grants; the command leaves such a step out.
        const kept = new Set(
          (before.licenseFamilies ?? [])
            .filter(({ lifecycleState }) => lifecycleState !== "DRAFT")
            .flatMap(({ grants }) => grants as ReadonlyArray<{ readonly entitlementSlug: string }>)
            .map(({ entitlementSlug }) => entitlementSlug),
        )
        const steps = plan.steps.filter(
          ({ isRemoval, name, section }) => !(isRemoval && section === "entitlements" && kept.has(name)),
        )
        const next = planOf(file, after(before, steps), chosen)
        assert.deepStrictEqual(next.refusals, [])
        assert.isTrue(next.steps.every(({ name, section }) => section === "entitlements" && kept.has(name)))
      }
    },
  )

  it.prop(
    "of a service in which an apply stopped is what was left",
    { seed: Seed, done: small(60) },
    ({ done, seed }) => {
      const file = fileFrom(seed)
      const { steps } = planOf(file, nothing, options)
      const half = after(nothing, steps.slice(0, done))
      const rest = planOf(file, half, options)
      assert.deepStrictEqual(rest.refusals, [])
      assert.isAtMost(rest.steps.length, Math.max(0, steps.length - done))
      assertNothingToDo(planOf(file, after(half, rest.steps), options))
    },
  )

  it.prop("without a section leaves its records alone, also when it prunes", { seed: Seed }, ({ seed }) => {
    const service = serviceWith(fileFrom(seed))
    assert.deepStrictEqual(planOf({}, service, pruning), { steps: [], refusals: [], unlisted: [] })
    const plan = planOf(decode({ entitlements: [] }), service, pruning)
    assert.isTrue(plan.steps.every(({ section }) => section === "entitlements"))
  })

  it("of an add-on: a grant states no overage unless the file does, and keeps its `combine` if the file omits it", () => {
    const fileWith = (grant: object) =>
      decode({
        entitlements: [{ slug: "calls", name: "Calls", type: "NUMBER" }],
        licenseFamilies: [
          {
            slug: "extra",
            versions: [
              {
                slug: "extra",
                name: "Extra",
                type: "ADD_ON",
                lifecycleState: "DRAFT",
                grants: [{ entitlementSlug: "calls", value: 5, ...grant }],
              },
            ],
          },
        ],
      })
    const stored = serviceWith(fileWith({ combine: "SET" }))
    assert.deepStrictEqual(stored.licenseFamilies?.[0]?.grants, [
      { entitlementSlug: "calls", value: 5, combine: "SET", overagePercent: null },
    ])
    for (const same of [{ combine: "SET" }, {}, { overagePercent: null }]) {
      assertNothingToDo(planOf(fileWith(same), stored, options))
    }
    const bodies = (grant: object) => planOf(fileWith(grant), stored, options).steps.map(({ body }) => body)
    assert.deepStrictEqual(bodies({ combine: "MAX" }), [{ combine: "MAX" }])
    assert.deepStrictEqual(bodies({ overagePercent: 5 }), [{ overagePercent: 5 }])
    assert.deepStrictEqual(fileOf(stored).licenseFamilies?.[0]?.versions[0]?.grants, [
      { entitlementSlug: "calls", value: 5, combine: "SET" },
    ])
  })
})
