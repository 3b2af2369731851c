import { table } from "../statements.ts"

/** The event stream of each organization, and the outbox from which events are delivered. */
export const events: ReadonlyArray<string> = [
  // `position` is the order in which readers see the stream. It is assigned after the commit. Ids are generated before it, so a
  // reader that resumed by id could miss an event whose transaction committed late. `resource` is the record that the event is
  // about: readers filter by this column instead of searching `data`.
  ...table(
    "events",
    "A change of an organization, written in the transaction of the change. Grows with each change; kept forever unless SERVICE_RETENTION_EVENTS says otherwise.",
    `
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    position bigint,
    type text NOT NULL,
    resource text,
    occurred_at timestamptz NOT NULL,
    actor jsonb NOT NULL,
    data json NOT NULL,
    previous json,
    PRIMARY KEY (organization_id, id)
  `,
  ),
  `CREATE UNIQUE INDEX events_position ON events (organization_id, position) WHERE position IS NOT NULL`,
  `CREATE INDEX events_unplaced ON events (organization_id, id) WHERE position IS NULL`,
  // Partial indexes of events with a position, so that writing an event updates neither index.
  `CREATE INDEX events_type ON events (organization_id, type, position) WHERE position IS NOT NULL`,
  `CREATE INDEX events_resource ON events (organization_id, resource, position) WHERE position IS NOT NULL`,
  // Events of one actor. The type comes before the position, so that an actor's rare types are one range each; without
  // the filter `type`, a page merges the ranges of all types that the actor has.
  `CREATE INDEX events_actor ON events (organization_id, (actor->>'id'), type, position) WHERE position IS NOT NULL`,
  // `base` is the position before the first event of the tree of hashes. `log` says which log of the organization it is:
  // `keyshelf audit restart` begins another one.
  ...table(
    "event_streams",
    "The last position of a stream. It outlives the events, so that no position is assigned twice. Grows with each organization.",
    `
    organization_id uuid PRIMARY KEY,
    head bigint NOT NULL,
    log integer NOT NULL DEFAULT 1,
    base bigint NOT NULL DEFAULT 0
  `,
    "WITH (fillfactor = 50)",
  ),
  ...table(
    "webhook_outbox",
    "An event that an endpoint has subscribed to, written in its transaction, until its deliveries are queued. Grows while dispatchers are behind.",
    `
    organization_id uuid NOT NULL,
    event_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    claims smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, event_id)
  `,
    "WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)",
  ),
  `CREATE INDEX webhook_outbox_due ON webhook_outbox (due_at)`,
]
