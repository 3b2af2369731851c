/** Endpoints of leases. */
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import {
  Created,
  Idempotency,
  idempotencyHeaders,
  OpenToLicenseKeys,
  RequiredScope,
} from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { Uuid } from "../../../kernel/values/Identifiers.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { EntitlementNotFound } from "../../entitlements/Errors.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import { AcquireLeaseLimitReached, LeaseNotFound } from "../Errors.ts"
import { AcquireLease, Lease, leaseFilters } from "./Model.ts"

const meter = { instanceSlug: PathName, entitlementSlug: PathName }
const PATH = "/instances/:instanceSlug/entitlements/:entitlementSlug/leases"

export class LeasesApi extends HttpApiGroup.make("leases")
  .add(
    HttpApiEndpoint.get("list", PATH, {
      params: meter,
      query: { ...pageQuery, ...leaseFilters },
      success: Page(Lease),
      error: [InstanceNotFound, EntitlementNotFound, InvalidCursor, ValidationFailed],
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(OpenApi.annotations({ summary: "List leases", description: "The live ones, newest first." })),
    HttpApiEndpoint.post("acquire", PATH, {
      params: meter,
      headers: idempotencyHeaders,
      payload: AcquireLease,
      success: [Created(Lease), Lease],
      error: [InstanceNotFound, EntitlementNotFound, AcquireLeaseLimitReached, ValidationFailed],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(exampleBody({ holder: "anna@globex.example", ttlSeconds: 600, metadata: { host: "ws-12" } }))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "acquireLease",
          summary: "Acquire or renew a lease",
          description:
            "Takes a seat of a `CONCURRENT` entitlement for a holder: 201. If the holder has a live lease, it is renewed: 200. Renew it before `expiresAt`; at that time the seat is free. There are never more live leases than the limit and its overage allow. If the limit falls below what is held, the leases that were acquired last are not renewed.",
        }),
      ),
    HttpApiEndpoint.delete("release", `${PATH}/:leaseId`, {
      params: { ...meter, leaseId: Uuid },
      success: HttpApiSchema.NoContent,
      error: [InstanceNotFound, EntitlementNotFound, LeaseNotFound, ValidationFailed],
    })
      .annotate(RequiredScope, "write:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(OpenApi.annotations({ summary: "Release a lease", description: "The seat is free at once." })),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Leases",
      description: "Seats: how many use a `CONCURRENT` entitlement of an instance at one time.",
    }),
  ) {}
