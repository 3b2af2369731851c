/** Endpoints of ledgers. */
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Idempotency, idempotencyHeaders, OpenToLicenseKeys, RequiredScope } from "../../../kernel/contract/Endpoint.ts"
import { exampleBody } from "../../../kernel/contract/Example.ts"
import { Page, pageQuery } from "../../../kernel/contract/Page.ts"
import { InvalidCursor, ValidationFailed } from "../../../kernel/contract/Problem.ts"
import { PathName } from "../../../kernel/values/Text.ts"
import { InstanceNotFound } from "../../instances/Errors.ts"
import {
  UploadOfflineUsageLedgerClosed,
  UploadOfflineUsageLedgerForked,
  UploadOfflineUsageLedgerGap,
} from "../Errors.ts"
import { exampleUpload, OfflineLedger, OfflineUsageUpload, UploadOfflineUsage } from "./Model.ts"

const instance = { instanceSlug: PathName }

export class OfflineLedgersApi extends HttpApiGroup.make("offlineLedgers")
  .add(
    HttpApiEndpoint.post("upload", "/instances/:instanceSlug/offline-usage", {
      params: instance,
      headers: idempotencyHeaders,
      payload: UploadOfflineUsage,
      success: OfflineUsageUpload,
      error: [
        InstanceNotFound,
        UploadOfflineUsageLedgerForked,
        UploadOfflineUsageLedgerGap,
        UploadOfflineUsageLedgerClosed,
        ValidationFailed,
      ],
    })
      .middleware(Idempotency)
      .annotate(RequiredScope, "write:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(exampleBody(exampleUpload))
      .annotateMerge(
        OpenApi.annotations({
          identifier: "uploadOfflineUsage",
          summary: "Upload the usage of a site",
          description:
            "Takes lines of a ledger, in their order: all of them, or none. Lines that are stored already are `duplicate`, so an upload can be repeated. New lines count in the period of their `time`, above limits too, because the usage has happened: `overAllowance` and the threshold events report it. A line that cannot count is `rejected` with a code, and stays in the ledger: its bundle or entitlement is unknown, its `time` is not within the life of the bundle, usage of the bundle is no longer accepted, or its value is not valid. 409 if a line does not follow from what is stored (`LedgerForked`), if one is missing (`LedgerGap`), or if the ledger is closed. 422 for a text that is no line of the ledger. 403 if a line has a negative value and the credential is a license key: then nothing is stored.",
        }),
      ),
    HttpApiEndpoint.get("list", "/instances/:instanceSlug/offline-ledgers", {
      params: instance,
      query: pageQuery,
      success: Page(OfflineLedger),
      error: [InstanceNotFound, InvalidCursor],
    })
      .annotate(RequiredScope, "read:instances")
      .annotate(OpenToLicenseKeys, "by-path")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listOfflineLedgers",
          summary: "List the ledgers of an instance",
          description:
            "Where each ledger stands, by `source`: a site that has lost the answer to an upload goes on from there. They stay as long as usage of a bundle of the instance can be uploaded.",
        }),
      ),
  )
  .annotateMerge(
    OpenApi.annotations({
      title: "Offline usage",
      description: "Usage that products without a network wrote down, and bring later.",
    }),
  ) {}
