/** Applies one row of an import: creates the record, changes it, or finds that it is as the row says. */
import { Context, Effect, Layer, Option, Schema } from "effect"
import { Caller } from "../../kernel/contract/Caller.ts"
import { validationErrors } from "../../kernel/contract/DecodingErrors.ts"
import { invalid, ValidationFailed } from "../../kernel/contract/Problem.ts"
import type { ValidationError } from "../../kernel/contract/Problem.ts"
import { IntegrationLinks } from "../customers/IntegrationLinks.ts"
import { CreateCustomer } from "../customers/Model.ts"
import { Customers } from "../customers/Service.ts"
import { CreateInstance } from "../instances/Model.ts"
import { AddOns } from "../instances/addons/Service.ts"
import { Overrides } from "../instances/overrides/Service.ts"
import { Instances } from "../instances/Service.ts"
import { Licenses } from "../licenses/Service.ts"
import { Credits } from "../usage/credits/Service.ts"
import { AddOnRow, CreditRow, OverrideRow } from "./Model.ts"
import type { ImportKind, ImportStatus } from "./Model.ts"
import { asFound, differences } from "./Rules.ts"

/** The problem of a row that is rejected: that of the single operation. */
export interface Refusal {
  readonly code: string
  readonly detail: string
  readonly errors: ReadonlyArray<ValidationError>
}

/** What became of a row that was accepted. */
interface Applied {
  readonly status: Exclude<ImportStatus, "rejected">
  readonly slug: string
}

const applied = (status: Applied["status"], slug: string): Applied => ({ status, slug })

const decoding = <A, I>(schema: Schema.Codec<A, I>) => {
  const decode = Schema.decodeUnknownEffect(schema, { onExcessProperty: "error", errors: "all" })
  return (row: unknown) =>
    Effect.mapError(decode(row), ({ issue }) => {
      const errors = validationErrors(issue, "body", row)
      return new ValidationFailed({ detail: errors.map(({ message }) => message).join("; "), errors })
    })
}

const decodeCustomer = decoding(CreateCustomer)
const decodeInstance = decoding(CreateInstance)
const decodeOverride = decoding(OverrideRow)
const decodeAddOn = decoding(AddOnRow)
const decodeCredit = decoding(CreditRow)

/** The properties of an instance that a row can change. */
const INSTANCE_PROPERTIES = [
  "name",
  "description",
  "customerId",
  "customerSlug",
  "licenseId",
  "licenseSlug",
  "licenseFamilySlug",
  "deploymentZoneId",
  "startLicenseDate",
  "endLicenseDate",
  "graceDays",
  "endMaintenanceDate",
  "metadata",
]

/** How often a row is compared again with a record that others change at the same time. */
const MAX_RETRIES = 5

const hasChanged = ({ errors }: Refusal): boolean => errors.some(({ location }) => location === "body.updatedAt")

/**
 * Applies a row to its record. Another request may bring the same row at the same time: the second one looks the record up
 * again, and finds what the first has made of it.
 */
const applyToRecord = <Found, R>(steps: {
  readonly find: Effect.Effect<Option.Option<Found>, Refusal, R>
  readonly create: Effect.Effect<Applied, Refusal, R>
  /** Fails at `body.updatedAt` if the record has changed since it was found. */
  readonly change: (found: Found) => Effect.Effect<Applied, Refusal, R>
}): Effect.Effect<Applied, Refusal, R> =>
  Effect.gen(function* () {
    const found = yield* steps.find
    if (Option.isSome(found)) return yield* steps.change(found.value)
    return yield* Effect.catch(steps.create, (problem) =>
      Effect.flatMap(steps.find, (created) =>
        Option.isSome(created) ? steps.change(created.value) : Effect.fail(problem),
      ),
    )
  }).pipe(Effect.retry({ times: MAX_RETRIES, while: hasChanged }))

/** Applies rows of imports. */
export class ImportRows extends Context.Service<
  ImportRows,
  {
    /** Applies a row. `exact` is the same row with all digits of its numbers. */
    readonly apply: (
      kind: ImportKind,
      row: Readonly<Record<string, unknown>>,
      exact: unknown,
    ) => Effect.Effect<Applied, Refusal, Caller>
  }
>()("keyshelf/imports/ImportRows") {
  static readonly layer = Layer.suspend(() => Layer.effect(ImportRows, make))
}

/** Applies the row of a customer, which its external id or its slug identifies. */
const customerRows = Effect.gen(function* () {
  const customers = yield* Customers
  const links = yield* IntegrationLinks

  const findCustomer = Effect.fnUntraced(function* ({ externalCustomerId, slug }: CreateCustomer) {
    const { organizationId } = yield* Caller
    if (externalCustomerId !== undefined && externalCustomerId !== null) {
      const found = yield* customers.findByExternalId(organizationId, externalCustomerId)
      if (Option.isSome(found)) return found
    }
    return slug === undefined ? Option.none() : yield* Effect.option(customers.get(slug))
  })

  const customer = Effect.fnUntraced(function* (sent: unknown) {
    const row = yield* decodeCustomer(sent)
    if (row.slug === undefined && (row.externalCustomerId ?? null) === null) {
      const message = "required: send slug or externalCustomerId, by which the row is found again"
      return yield* invalid("body.slug", message, undefined)
    }
    return yield* applyToRecord({
      find: findCustomer(row),
      create: Effect.map(
        links.creating("CUSTOMER", row.integrations, (link) => customers.create(row, link)),
        ({ slug }) => applied("created", slug),
      ),
      change: Effect.fnUntraced(function* (found) {
        const { slug } = found
        if (row.slug !== undefined && row.slug !== slug) {
          return yield* invalid(
            "body.slug",
            `cannot be changed: the customer with this externalCustomerId is "${slug}"`,
            row.slug,
          )
        }
        const changes = differences(found, row, ["name", "domain", "externalCustomerId"])
        if (Object.keys(changes).length === 0) return applied("unchanged", slug)
        yield* customers.update(slug, asFound(changes, found))
        return applied("updated", slug)
      }),
    })
  })

  return customer
})

/** Applies the row of an instance, which its slug identifies. */
const instanceRows = Effect.gen(function* () {
  const instances = yield* Instances
  const licenses = yield* Licenses
  const links = yield* IntegrationLinks

  /** A family means the version that it resolves to now. */
  const licenseNamed = Effect.fnUntraced(function* ({ licenseFamilySlug, ...row }: CreateInstance) {
    if (licenseFamilySlug === undefined) return row
    const { organizationId } = yield* Caller
    const license = yield* licenses.resolve(organizationId, { licenseFamilySlug })
    return Option.isSome(license) ? { ...row, licenseId: license.value.id } : { ...row, licenseFamilySlug }
  })

  const instance = Effect.fnUntraced(function* (sent: unknown) {
    const row = yield* decodeInstance(sent)
    const { slug } = row
    if (slug === undefined) return yield* invalid("body.slug", "required: the row is found again by it", undefined)
    return yield* applyToRecord({
      find: Effect.option(instances.get(slug)),
      create: Effect.as(
        links.creating("INSTANCE", row.integrations, (link) => instances.create(row, link)),
        applied("created", slug),
      ),
      change: Effect.fnUntraced(function* (found) {
        const changes = differences(found, yield* licenseNamed(row), INSTANCE_PROPERTIES)
        if (Object.keys(changes).length === 0) return applied("unchanged", slug)
        yield* instances.update(slug, asFound(changes, found))
        return applied("updated", slug)
      }),
    })
  })

  return instance
})

const make = Effect.gen(function* () {
  const overrides = yield* Overrides
  const addOns = yield* AddOns
  const credits = yield* Credits
  const customer = yield* customerRows
  const instance = yield* instanceRows

  const override = Effect.fnUntraced(function* (sent: unknown, value: unknown) {
    const row = yield* decodeOverride(sent)
    const { entitlement, instance: slug, ...terms } = row
    // With all digits of a number, as it was sent.
    const exact = typeof terms.value === "number" ? { ...terms, value: value as number } : terms
    return applied((yield* overrides.apply(slug, entitlement, exact)).status, slug)
  })

  const addOn = Effect.fnUntraced(function* (sent: unknown) {
    const { addOn: family, instance: slug, ...body } = yield* decodeAddOn(sent)
    return applied((yield* addOns.apply(slug, family, body)).status, slug)
  })

  const credit = Effect.fnUntraced(function* (sent: unknown, amount: unknown) {
    const { entitlement, instance: slug, ...terms } = yield* decodeCredit(sent)
    const { isNew } = yield* credits.create(slug, entitlement, { ...terms, amount: amount as number })
    return applied(isNew ? "created" : "unchanged", slug)
  })

  return {
    apply: (
      kind: ImportKind,
      row: Readonly<Record<string, unknown>>,
      exact: unknown,
    ): Effect.Effect<Applied, Refusal, Caller> => {
      switch (kind) {
        case "customers":
          return customer(row)
        case "instances":
          return instance(row)
        case "overrides":
          return override(row, Reflect.get(Object(exact), "value"))
        case "addOns":
          return addOn(row)
        case "credits":
          return credit(row, Reflect.get(Object(exact), "amount"))
      }
    },
  }
})
