/** Endpoints of license migrations. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Idempotency, idempotencyHeaders, ReadsMany, RequiredScope } from "../../kernel/contract/Endpoint.ts"
import { DryRunImpact, DryRunOf, dryRunQuery, DryRuns } from "../../kernel/contract/dryruns/DryRun.ts"
import { exampleBody } from "../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../kernel/contract/Problem.ts"
import { Uuid } from "../../kernel/values/Identifiers.ts"
import { PathName } from "../../kernel/values/Text.ts"
import { LicenseNotFound } from "../licenses/Errors.ts"
import {
  CancelMigrationNotScheduled,
  LicenseMigrationNotFound,
  MigrateLicenseArchived,
  RevertMigrationNotDone,
  RevertMigrationTooLate,
} from "./Errors.ts"
import { LicenseMigration, LicenseMigrationItem, MigrateLicense, MigrationImpact } from "./Model.ts"

const migration = { migrationId: Uuid }
const Accepted = LicenseMigration.pipe(HttpApiSchema.status(202))
const MigrationDryRun = DryRunOf("Migration", { status: 202, body: LicenseMigration, impact: MigrationImpact })

export class LicenseMigrationsApi extends HttpApiGroup.make("licenseMigrations")
  .add(
    HttpApiEndpoint.post("request", "/licenses/:licenseSlug/migrations", {
      params: { licenseSlug: PathName },
      query: dryRunQuery,
      headers: idempotencyHeaders,
      payload: MigrateLicense,
      success: [Accepted, MigrationDryRun],
      error: [LicenseNotFound, MigrateLicenseArchived, ValidationFailed],
    })
      .middleware(Idempotency)
      .middleware(DryRuns)
      .annotate(RequiredScope, "write:licenses")
      .annotate(DryRunImpact, "license-migration")
      .annotate(ReadsMany, true)
      .annotateMerge(exampleBody({ toLicenseSlug: "pro-v2", at: "2099-01-01T00:00:00Z" }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "migrateLicense",
          summary: "Move instances to another license version",
          description:
            "Moves all instances of the license version, those of a customer, or those that are named, now or at a time. Send exactly one of `toLicenseSlug` and `toLicenseFamilySlug`; a draft is allowed. The instances are moved in batches, each once, with an `INSTANCE_UPDATED`; usage and overrides stay.",
        }),
      ),
    HttpApiEndpoint.get("list", "/license-migrations", {
      query: pageQuery,
      success: Page(LicenseMigration),
      error: InvalidCursor,
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(OpenApi.annotations({ summary: "List license migrations", description: "Newest first." })),
    HttpApiEndpoint.get("get", "/license-migrations/:migrationId", {
      params: migration,
      success: LicenseMigration,
      error: LicenseMigrationNotFound,
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Read a license migration",
          description:
            "Returns its state and how many instances were moved so far. List its items to see what became of each instance.",
        }),
      ),
    HttpApiEndpoint.get("items", "/license-migrations/:migrationId/items", {
      params: migration,
      query: pageQuery,
      success: Page(LicenseMigrationItem),
      error: [LicenseMigrationNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:licenses")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listLicenseMigrationItems",
          summary: "List what became of each instance",
          description: "In the order in which they were moved.",
        }),
      ),
    HttpApiEndpoint.post("cancel", "/license-migrations/:migrationId/cancel", {
      params: migration,
      headers: idempotencyHeaders,
      success: LicenseMigration,
      error: [LicenseMigrationNotFound, CancelMigrationNotScheduled],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Cancel a license migration",
          description: "Only one that has not started.",
        }),
      ),
    HttpApiEndpoint.post("revert", "/license-migrations/:migrationId/revert", {
      params: migration,
      headers: idempotencyHeaders,
      success: Accepted,
      error: [LicenseMigrationNotFound, RevertMigrationNotDone, RevertMigrationTooLate],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:licenses")
      .annotateMerge(
        OpenApi.annotations({
          summary: "Revert a license migration",
          description:
            "Moves back those instances that still have the license version to which the migration moved them, in batches. Possible for 35 days after it finished.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "License migrations",
      description: "Moves of many instances from one license version to another.",
    }),
  ) {}
