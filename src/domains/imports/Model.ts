/** Imports: many records in one request, with a verdict on each. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { ValidationError } from "../../kernel/contract/Problem.ts"
import type { Scope } from "../../kernel/contract/Scope.ts"
import { PathName, Text } from "../../kernel/values/Text.ts"
import { PutAddOn } from "../instances/addons/Model.ts"
import { PutOverride } from "../instances/overrides/Model.ts"
import { CreateCredit } from "../usage/credits/Model.ts"

/** What can be imported, and the scope of each kind. */
export const importScopes = {
  customers: "write:customers",
  instances: "write:instances",
  overrides: "write:licenses",
  addOns: "write:licenses",
  credits: "write:licenses",
} as const satisfies Record<string, Scope>

export type ImportKind = keyof typeof importScopes

const MAX_ROWS = 1_000

/** Body of `POST /imports`. Each row is decoded separately, so that errors of one do not affect the others. */
export const ImportRequest = Schema.Struct({
  kind: Schema.Literals(["customers", "instances", "overrides", "addOns", "credits"]).annotate(
    component("ImportKind", "customers"),
  ),
  rows: Schema.Array(Schema.Record(Schema.String, Schema.Unknown))
    .check(Schema.isBetweenLength(1, MAX_ROWS, { expected: `1 to ${MAX_ROWS} rows` }))
    .annotate({
      description:
        "Bodies of `POST /customers` or `POST /instances`, of an override or a credit with the slugs of its `instance` and `entitlement`, or of an add-on with those of its `instance` and, as `addOn`, its family. A credit needs its `externalId`",
    }),
}).annotate(component("ImportRequest"))
export type ImportRequest = typeof ImportRequest.Type

/** A row of an import of overrides. */
export const OverrideRow = Schema.Struct({ instance: PathName, entitlement: PathName, ...PutOverride.fields })

/** A row of an import of add-ons. */
export const AddOnRow = Schema.Struct({ instance: PathName, addOn: PathName, ...PutAddOn.fields })

/** A row of an import of credits. It is found again by its external id. */
export const CreditRow = Schema.Struct({
  instance: PathName,
  entitlement: PathName,
  ...CreateCredit.fields,
  externalId: Text(1, 255),
})

const importStatuses = ["created", "updated", "unchanged", "rejected"] as const
export type ImportStatus = (typeof importStatuses)[number]

/** What became of one row. */
export const ImportResult = Schema.Struct({
  index: Schema.Int.annotate({ description: "The position of the row in the request, from 0" }),
  status: Schema.Literals(importStatuses).annotate(component("ImportStatus", "created")),
  slug: Schema.NullOr(Schema.String).annotate({
    description: "Slug of the record, or of the instance of an override, add-on or credit; `null` if it is not known",
  }),
  code: Schema.optionalKey(Schema.String.annotate({ description: "Of a rejected row: the code of the problem" })),
  errors: Schema.optionalKey(
    Schema.Array(ValidationError).annotate({ description: "Of a rejected row: what is wrong, and where" }),
  ),
}).annotate(component("ImportResult", { index: 0, slug: "globex" }))
export type ImportResult = typeof ImportResult.Type

export const ImportResults = Schema.Struct({
  results: Schema.Array(ImportResult).annotate({ description: "In the order of the rows" }),
}).annotate(component("ImportResults"))
