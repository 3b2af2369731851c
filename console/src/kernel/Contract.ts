/**
 * The types of the APIs, taken from the service's own definitions. Types alone: nothing of the service is in the build.
 * A wrong path, a missing parameter or an unknown property does not compile.
 */
import type { Schema } from "effect"
import type { HttpApiEndpoint, HttpApiSchema } from "effect/http-api"
import type { CoreApi } from "../../../src/api/CoreApi.ts"
import type { PlatformApi } from "../../../src/api/PlatformApi.ts"
import type { WebhookApi } from "../../../src/api/WebhookApi.ts"

/**
 * The schema inside. Endpoints wrap schemas in codecs whose encoded form is any JSON; only the schema inside has its properties.
 * A created record is inside of a response with headers, so the type recurses.
 */
type Inner<S> =
  S extends HttpApiSchema.WithHeaders<infer I, infer _>
    ? Inner<I>
    : S extends Schema.toCodecJson<infer I>
      ? Inner<I>
      : S extends Schema.toCodecStringTree<infer I>
        ? Inner<I>
        : S

type Encoded<S> = S extends { readonly Encoded: infer E } ? E : never

/** What is left of a value in JSON: dates are text. */
type Json<T> = T extends Date ? string : T extends object ? { readonly [K in keyof T]: Json<T[K]> } : T

/** The JSON of a schema. A stream has none. */
type Wire<S> = S extends { readonly _tag: "StreamUint8Array" } ? never : Json<Encoded<Inner<S>>>

type GroupsOf<Api> = Api extends { readonly groups: infer Groups } ? Groups[keyof Groups] : never
type EndpointsOf<Group> = Group extends { readonly endpoints: infer Endpoints } ? Endpoints[keyof Endpoints] : never

type Endpoint = EndpointsOf<GroupsOf<typeof CoreApi> | GroupsOf<typeof PlatformApi> | GroupsOf<typeof WebhookApi>>

type KeyOf<E> = E extends { readonly method: infer M extends string; readonly path: infer P extends string }
  ? `${M} ${P}`
  : never

type ParamNames<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParamNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

type Params<Path> = [ParamNames<Path>] extends [never]
  ? { readonly params?: never }
  : { readonly params: { readonly [Name in ParamNames<Path>]: string } }

/** Optional properties may also be `undefined`: they are then left out. */
type Loose<T> = { readonly [K in keyof T]: undefined extends T[K] ? T[K] | undefined : T[K] }

type QueryOf<S> = [S] extends [never]
  ? { readonly query?: never }
  : Record<never, never> extends Wire<S>
    ? { readonly query?: Loose<Wire<S>> }
    : { readonly query: Loose<Wire<S>> }

type BodyOf<S> = [S] extends [never] ? { readonly body?: never } : { readonly body: Wire<S> }

/** Every operation by method and path: what a request needs, and the JSON of its answer. */
type Operations = {
  readonly [E in Endpoint as KeyOf<E>]: E extends { readonly path: infer Path }
    ? {
        readonly request: Params<Path> & QueryOf<HttpApiEndpoint.Query<E>> & BodyOf<HttpApiEndpoint.Payload<E>>
        readonly answer: Wire<HttpApiEndpoint.Success<E>>
      }
    : never
}

export type Operation = keyof Operations
export type Request<O extends Operation> = Operations[O]["request"]
export type Answer<O extends Operation> = Operations[O]["answer"]
export type Body<O extends Operation> = Request<O> extends { readonly body: infer B } ? B : never

/** The record of a list's pages. */
export type Item<O extends Operation> = Answer<O> extends { readonly items: ReadonlyArray<infer I> } ? I : never

/** The answer with `?dryRun=true`. */
type DryRun<O extends Operation> = Extract<Answer<O>, { readonly dryRun: true }>
/** The dry run of any operation. */
export type AnyDryRun = DryRun<Operation>
/** The operations that take `?dryRun=true`. */
export type DryRunnable = { readonly [O in Operation]: [DryRun<O>] extends [never] ? never : O }[Operation]

export type Me = Answer<"GET /api/me">
export type PlatformMe = Answer<"GET /api/platform/me">
export type Overview = Answer<"GET /api/overview">
export type Customer = Answer<"GET /api/customers/:customerSlug">
export type Instance = Answer<"GET /api/instances/:instanceSlug">
export type License = Answer<"GET /api/licenses/:licenseSlug">
export type LicenseFamily = Item<"GET /api/license-families">
export type Grant = Item<"GET /api/licenses/:licenseSlug/entitlements">
export type Entitlement = Answer<"GET /api/entitlements/:entitlementSlug">
export type EntitlementGroup = Answer<"GET /api/entitlement-groups/:entitlementGroupSlug">
export type Usage = Item<"GET /api/instances/:instanceSlug/entitlements/usage">
export type UsageEvent = Item<"GET /api/instances/:instanceSlug/entitlements/:entitlementSlug/usage/events">
export type UsageBucket =
  Answer<"GET /api/instances/:instanceSlug/entitlements/:entitlementSlug/usage/history">["items"][number]
export type AddOn = Item<"GET /api/instances/:instanceSlug/add-ons">
export type Credit = Item<"GET /api/instances/:instanceSlug/entitlements/:entitlementSlug/credits">
export type Override = Item<"GET /api/instances/:instanceSlug/overrides">
export type Lease = Item<"GET /api/instances/:instanceSlug/entitlements/:entitlementSlug/leases">
export type LicenseKey = Item<"GET /api/instances/:instanceSlug/keys">
export type OfflineBundle = Item<"GET /api/instances/:instanceSlug/offline-bundles">
export type Tranche = Item<"GET /api/instances/:instanceSlug/tranches">
export type CheckResult = Answer<"POST /api/instances/:instanceSlug/check">
export type CheckAnswer = CheckResult["checks"][number]
export type EventRecord = Item<"GET /api/events">
export type EventName = EventRecord["type"]
export type Actor = EventRecord["actor"]
export type Zone = Answer<"GET /api/deployment-zones/:deploymentZoneSlug">
export type InstanceRelease = Item<"GET /api/instances/:instanceSlug/releases">
export type Release = Answer<"GET /api/releases/:releaseSlug">
export type Component = Answer<"GET /api/components/:componentSlug">
export type FeatureFlag = Answer<"GET /api/feature-flags/:key">
export type MetadataField = Item<"GET /api/metadata-fields">
export type ConnectorState = Item<"GET /api/connectors">
export type ServiceAccount = Answer<"GET /api/service-accounts/:serviceAccountSlug">
export type Token = Item<"GET /api/service-accounts/:serviceAccountSlug/tokens">
export type WebhookEndpoint = Answer<"GET /api/webhooks/:id">
export type WebhookAttempt = Item<"GET /api/webhooks/history">
export type Migration = Answer<"GET /api/license-migrations/:migrationId">
export type MigrationItem = Item<"GET /api/license-migrations/:migrationId/items">
export type SigningKey = Item<"GET /api/signing-keys">
export type Organization = Answer<"GET /api/platform/organizations/:orgId">
export type User = Answer<"GET /api/platform/users/:userId">
export type Membership = Item<"GET /api/platform/organizations/:orgId/memberships">
