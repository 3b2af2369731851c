/** The endpoint of imports. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import {
  AnyOfScopes,
  Idempotency,
  idempotencyHeaders,
  ReadsMany,
  RequiredScope,
  RunsInPieces,
} from "../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { ValidationFailed } from "../../kernel/contract/Problem.ts"
import { ImportRequest, ImportResults, importScopes } from "./Model.ts"

export class ImportsApi extends HttpApiGroup.make("imports")
  .add(
    HttpApiEndpoint.post("run", "/imports", {
      headers: idempotencyHeaders,
      payload: ImportRequest,
      success: ImportResults,
      error: ValidationFailed,
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "any-credential")
      .annotate(AnyOfScopes, [...new Set(Object.values(importScopes))])
      .annotate(RunsInPieces, true)
      .annotate(ReadsMany, true)
      .annotateMerge(
        exampleBody({
          kind: "customers",
          rows: [{ name: "Globex", slug: "globex", externalCustomerId: "crm-4711" }],
        }),
      )
      .annotateMerge(
        OpenApi.annotations({
          identifier: "importRecords",
          summary: "Import records",
          description:
            "Creates or changes up to 1,000 records, each in a transaction of its own with its event, and returns what became of each row. A row that is rejected harms no other. Rows are found again: customers by `externalCustomerId` or `slug`, instances by `slug`, overrides by instance and entitlement, add-ons by instance and family. So a request can be sent again, even at the same time; what a row says already is `unchanged`. Under an `Idempotency-Key`, the response is stored after the last row. Properties that a row omits stay unchanged, and integration records are only created with their record. Requires the scope of the kind: `write:customers`, `write:instances` or, for overrides and add-ons, `write:licenses`.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({ title: "Imports", description: "Many records in one request, with a verdict on each." }),
  ) {}
