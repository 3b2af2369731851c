/** The layer graph of all use cases: one line per domain. Adding a domain adds its line at its place in the order. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import * as Access from "../domains/access/Layer.ts"
import * as Audit from "../domains/audit/Layer.ts"
import * as Components from "../domains/components/Layer.ts"
import * as Connectors from "../domains/connectors/Layer.ts"
import * as Customers from "../domains/customers/Layer.ts"
import * as Entitlements from "../domains/entitlements/Layer.ts"
import * as Events from "../domains/events/Layer.ts"
import * as EventsSharded from "../domains/events/sharded/LayerSharded.ts"
import * as Flags from "../domains/flags/Layer.ts"
import * as Groups from "../domains/groups/Layer.ts"
import * as Idempotency from "../domains/idempotency/Layer.ts"
import * as Impact from "../domains/impact/Layer.ts"
import * as Imports from "../domains/imports/Layer.ts"
import * as Instances from "../domains/instances/Layer.ts"
import * as InstancesSharded from "../domains/instances/sharded/LayerSharded.ts"
import * as Integrations from "../domains/integrations/Layer.ts"
import * as Licenses from "../domains/licenses/Layer.ts"
import * as Maintenance from "../domains/maintenance/Layer.ts"
import * as Metadata from "../domains/metadata/Layer.ts"
import * as Migrations from "../domains/licensemoves/Layer.ts"
import * as MigrationsSharded from "../domains/licensemoves/sharded/LayerSharded.ts"
import * as Offline from "../domains/offline/Layer.ts"
import * as Organizations from "../domains/organizations/Layer.ts"
import * as Overview from "../domains/overview/Layer.ts"
import * as People from "../domains/people/Layer.ts"
import * as PeopleSharded from "../domains/people/sharded/LayerSharded.ts"
import * as Releases from "../domains/releases/Layer.ts"
import * as Signing from "../domains/signing/Layer.ts"
import * as Usage from "../domains/usage/Layer.ts"
import * as UsageSharded from "../domains/usage/sharded/LayerSharded.ts"
import * as Webhooks from "../domains/webhooks/Layer.ts"
import * as WebhooksSharded from "../domains/webhooks/sharded/LayerSharded.ts"
import * as OutboxFilter from "../domains/webhooks/outbox/OutboxFilter.ts"
import * as Zones from "../domains/zones/Layer.ts"
import * as DedicatedConnections from "../infra/database/DedicatedConnections.ts"
import * as Transactions from "../infra/database/Transactions.ts"
import * as RepairedJson from "../infra/RepairedJson.ts"
import * as SealedCursors from "../infra/SealedCursors.ts"
import * as SecretBox from "../infra/SecretBox.ts"
import { hasCitus } from "../kernel/database/Statements.ts"
import { DeletionBlockers } from "../kernel/ports/DeletionBlockers.ts"
import { Shutdown } from "../kernel/ports/Shutdown.ts"

/** The services that all domains use. */
const ports = Layer.mergeAll(
  Transactions.layer,
  DedicatedConnections.layer,
  Shutdown.layer,
  SealedCursors.layer,
  SecretBox.layer,
  DeletionBlockers.layer,
  RepairedJson.layer,
)

/** What domains read of later ones, which provide it. */
const fromLaterDomains = Layer.mergeAll(
  OutboxFilter.layer,
  Impact.ports,
  Offline.ports,
  Integrations.ports,
  Instances.ports,
  Groups.ports,
  Usage.ports,
)

/** The repositories whose statements have a form for each kind of database, for one server. */
const onOneServer = Layer.mergeAll(
  Events.repositories,
  Webhooks.repositories,
  Migrations.repositories,
  Usage.repositories,
  Instances.repositories,
  People.repositories,
)

/** The same for Citus. One server understands these statements too, but they cost it more. */
export const onCitus = Layer.mergeAll(
  EventsSharded.repositories,
  WebhooksSharded.repositories,
  MigrationsSharded.repositories,
  UsageSharded.repositories,
  InstancesSharded.repositories,
  PeopleSharded.repositories,
)

type Repositories = Layer.Layer<
  Layer.Success<typeof onOneServer>,
  never,
  PgClient.PgClient | Layer.Services<typeof onOneServer | typeof onCitus>
>

/** The use cases on these repositories. Each line may use the services of the lines below it. */
export const servicesOn = (repositories: Repositories) =>
  Maintenance.layer
    .pipe(
      Layer.provideMerge(Audit.layer),
      Layer.provideMerge(Webhooks.layer),
      Layer.provideMerge(Overview.layer),
      Layer.provideMerge(Impact.layer),
      Layer.provideMerge(Offline.layer),
      Layer.provideMerge(Flags.layer),
      Layer.provideMerge(Migrations.layer),
      Layer.provideMerge(Imports.layer),
      Layer.provideMerge(Usage.layer),
      Layer.provideMerge(Events.changes.pipe(Layer.provide(Instances.followers))),
      Layer.provideMerge(Integrations.layer),
      Layer.provideMerge(Instances.layer),
    )
    .pipe(
      Layer.provideMerge(Customers.layer),
      Layer.provideMerge(Licenses.layer),
      Layer.provideMerge(Zones.layer),
      Layer.provideMerge(Releases.layer),
      Layer.provideMerge(Groups.layer),
      Layer.provideMerge(Entitlements.layer),
      Layer.provideMerge(Components.layer),
      Layer.provideMerge(Connectors.layer),
      Layer.provideMerge(Metadata.layer),
      Layer.provideMerge(Signing.layer),
      Layer.provideMerge(Access.layer),
      Layer.provideMerge(People.layer),
      Layer.provideMerge(Organizations.layer),
      Layer.provideMerge(Events.layer),
      Layer.provideMerge(Idempotency.layer),
    )
    .pipe(Layer.provideMerge(repositories), Layer.provideMerge(fromLaterDomains), Layer.provideMerge(ports))

/** What the database is decides their form, once. */
const repositories: Repositories = Layer.unwrap(
  Effect.map(Effect.flatMap(PgClient.PgClient, hasCitus), (isSharded): Repositories =>
    isSharded ? onCitus : onOneServer,
  ),
)

/**
 * Every use case, on a migrated database, a clock, signals between nodes, the installation's keys and outbound HTTP.
 */
export const services = servicesOn(repositories)
