/**
 * Dry runs: `?dryRun=true` runs a request, undoes it, and returns the response that the real request would get, its
 * events and its impact.
 */
import { Context, Schema } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import type { Caller } from "../Caller.ts"
import { component } from "../Component.ts"
import { EventName } from "../Event.ts"

/** An event that a request would emit. */
export const DryRunEvent = Schema.Struct({
  type: EventName,
  resource: Schema.NullOr(Schema.String).annotate({
    description: "The record that the event is about, as the filter `resource` of `GET /events` takes it",
  }),
  data: Schema.Record(Schema.String, Schema.Unknown),
  previous: Schema.optionalKey(Schema.Record(Schema.String, Schema.Unknown)),
}).annotate(component("DryRunEvent", { resource: null, data: { name: "Pro", slug: "pro" } }))
export type DryRunEvent = typeof DryRunEvent.Type

/** Collects the events of a dry run; `undefined` in a real request. */
export const CurrentDryRun = Context.Reference<Array<DryRunEvent> | undefined>(
  "keyshelf.reference/kernel/CurrentDryRun",
  { defaultValue: () => undefined },
)

/**
 * What a dry run reports about other records:
 * `license`: the instances of a license version, what its family resolves to, and who loses the default;
 * `license-migration`: the instances that would be moved, and whose checks would turn;
 * `grant`, `instance`, `add-on`, `credit`: whose checks would turn; `instance-deletion`: what is deleted with the instance;
 * `deletion`: nothing, because records that block it cause a rejection; `metadata-field`: whose values would be invalid;
 * `connector`: its integration records; `revocation`: offline bundles in force;
 * `release-access`: the instances for which the decision on a release turns; `deployment`: the instances of a zone that may not have
 * the release that it would run.
 */
export type ImpactKind =
  | "license"
  | "license-migration"
  | "grant"
  | "instance"
  | "add-on"
  | "credit"
  | "instance-deletion"
  | "deletion"
  | "metadata-field"
  | "connector"
  | "revocation"
  | "release-access"
  | "deployment"

/** The impact that dry runs of an endpoint report. An endpoint with {@link DryRuns} needs it. */
export class DryRunImpact extends Context.Service<DryRunImpact, ImpactKind>()("keyshelf/kernel/DryRunImpact") {}

/**
 * Runs a request with `?dryRun=true` and undoes it. It must be added after `Idempotency`, so that a dry run neither reads
 * nor stores responses of a key.
 */
export class DryRuns extends HttpApiMiddleware.Service<DryRuns, { requires: Caller }>()("keyshelf/kernel/DryRuns") {}

/** The query of an endpoint with {@link DryRuns}. */
export const dryRunQuery = {
  dryRun: Schema.optionalKey(
    Schema.Literals(["true", "false"]).annotate({
      description:
        "With `true`, nothing is changed: the response is 200 with the status and the body of the real one, its events, and its impact on other records. A refusal is the same as that of the real request.",
    }),
  ),
}

/**
 * The answer to a dry run under a name of the OpenAPI documents. `status` is that of the real response, and `body` its body:
 * ids and times in it are examples.
 */
export const DryRunOf = <const Status extends number, Body extends Schema.Top, Impact extends Schema.Top>(
  name: string,
  { body, impact, status }: { readonly status: Status; readonly body: Body; readonly impact: Impact },
) =>
  Schema.Struct({
    dryRun: Schema.Literal(true),
    status: Schema.Literal(status).annotate({ description: "The status of the real response" }),
    body: body.annotate({ description: "The body of the real response; ids and times are examples" }),
    events: Schema.Array(DryRunEvent).annotate({ description: "The events of the change, in their order" }),
    impact,
  }).annotate(component(`${name}DryRun`, status === 204 ? { body: null } : {}))
