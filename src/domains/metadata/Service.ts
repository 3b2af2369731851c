/** Use cases for metadata fields. */
import { Context, Effect, Layer, Option } from "effect"
import { Events } from "../events/Service.ts"
import { Caller } from "../../kernel/contract/Caller.ts"
import { requireUnchanged } from "../../kernel/contract/Rewritable.ts"
import { newId } from "../../kernel/values/Identifiers.ts"
import type { OrganizationId } from "../../kernel/values/Identifiers.ts"
import { Cursors } from "../../kernel/contract/Page.ts"
import type { Page, PageRequest } from "../../kernel/contract/Page.ts"
import { noSuch, describeErrors, failWithErrors } from "../../kernel/contract/Problem.ts"
import type { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { now } from "../../kernel/values/Timestamp.ts"
import { Transactions } from "../../kernel/database/Transactions.ts"
import { CreateMetadataFieldKeyTaken, MetadataFieldNotFound, UnarchiveMetadataFieldKeyTaken } from "./Errors.ts"
import { UpdateMetadataField } from "./Model.ts"
import type { CreateMetadataField, DryRun, MetadataField, ResourceType, Verdict } from "./Model.ts"
import { MetadataFieldsRepo } from "./Repo.ts"
import type { MetadataFieldRow } from "./Repo.ts"
import { schemaErrors } from "./jsonschema/SchemaPolicy.ts"
import { validate } from "./jsonschema/Validator.ts"

const notFound = (id: string) => new MetadataFieldNotFound({ detail: noSuch("metadata field", id) })

const taken = ({ key, resourceType }: Pick<MetadataField, "key" | "resourceType">) => ({
  detail: `Another active field for ${resourceType} has the key "${key}". Choose a different key, or archive that field first.`,
})

const recordOf = ({ archivedAt, ...field }: MetadataFieldRow): MetadataField =>
  archivedAt === null ? field : { ...field, archivedAt }

const acceptSchema = (schema: Readonly<Record<string, unknown>>) => {
  const errors = schemaErrors(schema).map(({ message, pointer }) => ({
    location: `body.jsonSchema${pointer}`,
    message,
  }))
  return failWithErrors(errors, `The schema is not valid: ${describeErrors(errors)}.`)
}

interface MetadataFieldFilters {
  readonly resourceType?: ResourceType
}

/** Manages the metadata fields of the caller's organization. */
export class MetadataFields extends Context.Service<
  MetadataFields,
  {
    /** Creates a field, unless an active one of its kind of record has its key. */
    readonly create: (
      input: CreateMetadataField,
    ) => Effect.Effect<MetadataField, ValidationFailed | CreateMetadataFieldKeyTaken, Caller>
    /** A page of fields, also archived ones, in their display order. */
    readonly list: (
      request: PageRequest & MetadataFieldFilters,
    ) => Effect.Effect<Page<MetadataField>, InvalidCursor, Caller>
    /** Changes a field. Stored values are not checked again. */
    readonly update: (
      id: string,
      input: UpdateMetadataField,
    ) => Effect.Effect<MetadataField, ValidationFailed | MetadataFieldNotFound, Caller>
    /** Archives a field: its values remain and can no longer be set. An archived one stays as it is. */
    readonly archive: (id: string) => Effect.Effect<MetadataField, MetadataFieldNotFound, Caller>
    /** Makes an archived field active again, unless another active one has its key. */
    readonly unarchive: (
      id: string,
    ) => Effect.Effect<MetadataField, MetadataFieldNotFound | UnarchiveMetadataFieldKeyTaken, Caller>
    /** Whether a field accepts a value. Nothing is stored. */
    readonly dryRun: (id: string, input: DryRun) => Effect.Effect<Verdict, MetadataFieldNotFound, Caller>
  }
>()("keyshelf/metadata/MetadataFields") {
  static readonly layer = Layer.suspend(() => Layer.effect(MetadataFields, make))
}

/** Creates a field, unless an active one has its key. */
const creation = Effect.gen(function* () {
  const repo = yield* MetadataFieldsRepo
  const events = yield* Events
  const transactions = yield* Transactions

  return Effect.fn("MetadataFields.create")(function* (input: CreateMetadataField) {
    const caller = yield* Caller
    yield* acceptSchema(input.jsonSchema)
    const at = yield* now
    const field: MetadataFieldRow = {
      id: yield* newId,
      key: input.key,
      label: input.label,
      resourceType: input.resourceType,
      jsonSchema: input.jsonSchema,
      displayOrder: input.displayOrder ?? 0,
      archivedAt: null,
      createdAt: at,
      updatedAt: at,
      createdBy: caller.actor,
      updatedBy: caller.actor,
    }
    return yield* transactions.run(
      Effect.gen(function* () {
        yield* repo.lockKey(caller.organizationId, field.resourceType, field.key)
        if (yield* repo.isKeyActive(caller.organizationId, field.resourceType, field.key)) {
          return yield* new CreateMetadataFieldKeyTaken(taken(field))
        }
        yield* repo.insert(caller.organizationId, field)
        const record = recordOf(field)
        yield* events.emit(caller, "METADATA_FIELD_CREATED", record)
        return record
      }),
    )
  })
})

/** The field with an id. It is locked until the transaction ends. */
const fieldLock = Effect.gen(function* () {
  const repo = yield* MetadataFieldsRepo
  return Effect.fnUntraced(function* (organizationId: OrganizationId, id: string) {
    const field = yield* repo.lockById(organizationId, id)
    return Option.isSome(field) ? field.value : yield* notFound(id)
  })
})

/** Archives fields and makes them active again. */
const archiving = Effect.gen(function* () {
  const repo = yield* MetadataFieldsRepo
  const events = yield* Events
  const transactions = yield* Transactions
  const lock = yield* fieldLock

  const archive = Effect.fn("MetadataFields.archive")(function* (id: string) {
    const caller = yield* Caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* lock(caller.organizationId, id)
        if (current.archivedAt !== null) return recordOf(current)
        const at = yield* now
        const archived: MetadataFieldRow = { ...current, archivedAt: at, updatedAt: at, updatedBy: caller.actor }
        yield* repo.update(caller.organizationId, archived)
        const record = recordOf(archived)
        yield* events.emitChange(caller, "METADATA_FIELD_ARCHIVED", recordOf(current), record)
        return record
      }),
    )
  })

  const unarchive = Effect.fn("MetadataFields.unarchive")(function* (id: string) {
    const caller = yield* Caller
    const { organizationId } = caller
    return yield* transactions.run(
      Effect.gen(function* () {
        const named = yield* repo.findById(organizationId, id)
        if (Option.isNone(named)) return yield* notFound(id)
        // Acquires the key's lock before the row's, in the same order as `create`, to avoid deadlocks.
        yield* repo.lockKey(organizationId, named.value.resourceType, named.value.key)
        const current = yield* lock(organizationId, id)
        if (current.archivedAt === null) return recordOf(current)
        if (yield* repo.isKeyActive(organizationId, current.resourceType, current.key)) {
          return yield* new UnarchiveMetadataFieldKeyTaken(taken(current))
        }
        const active = { ...current, archivedAt: null, updatedAt: yield* now, updatedBy: caller.actor }
        yield* repo.update(organizationId, active)
        const record = recordOf(active)
        yield* events.emitChange(caller, "METADATA_FIELD_UNARCHIVED", recordOf(current), record)
        return record
      }),
    )
  })

  return { archive, unarchive }
})

const make = Effect.gen(function* () {
  const repo = yield* MetadataFieldsRepo
  const events = yield* Events
  const cursors = yield* Cursors
  const transactions = yield* Transactions
  const lock = yield* fieldLock

  const list = Effect.fn("MetadataFields.list")(function* ({
    resourceType,
    ...request
  }: PageRequest & MetadataFieldFilters) {
    const { organizationId } = yield* Caller
    const page = yield* cursors.page(
      { name: "metadata-fields", organizationId, filters: resourceType === undefined ? {} : { resourceType } },
      request,
      (after, count) => repo.list(organizationId, resourceType, after, count),
      (field) => [field.displayOrder, field.id],
    )
    return { ...page, items: page.items.map(recordOf) }
  })

  const update = Effect.fn("MetadataFields.update")(function* (id: string, input: UpdateMetadataField) {
    const caller = yield* Caller
    if (input.jsonSchema !== undefined) yield* acceptSchema(input.jsonSchema)
    return yield* transactions.run(
      Effect.gen(function* () {
        const current = yield* lock(caller.organizationId, id)
        yield* requireUnchanged(UpdateMetadataField, recordOf(current), input)
        const updated: MetadataFieldRow = {
          ...current,
          label: input.label ?? current.label,
          jsonSchema: input.jsonSchema ?? current.jsonSchema,
          displayOrder: input.displayOrder === undefined ? current.displayOrder : (input.displayOrder ?? 0),
          updatedAt: yield* now,
          updatedBy: caller.actor,
        }
        yield* repo.update(caller.organizationId, updated)
        const record = recordOf(updated)
        yield* events.emitChange(caller, "METADATA_FIELD_UPDATED", recordOf(current), record)
        return record
      }),
    )
  })

  const dryRun = Effect.fn("MetadataFields.dryRun")(function* (id: string, { value }: DryRun) {
    const { organizationId } = yield* Caller
    const field = yield* repo.findById(organizationId, id)
    if (Option.isNone(field)) return yield* notFound(id)
    const errors = validate(field.value.jsonSchema, value)
    const verdict: Verdict = {
      valid: errors.length === 0,
      errors: errors.map(({ message, pointer }) => ({ location: `body.value${pointer}`, message })),
    }
    return verdict
  })

  return { create: yield* creation, list, update, ...(yield* archiving), dryRun }
})
