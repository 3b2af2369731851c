import { table } from "../statements.ts"

/** The event stream of each organization, and the outbox from which events are delivered. */
export const events: ReadonlyArray<string> = [
  // `resource` is the record that the event is about, by which readers filter. It is copied from here to `event_positions`.
  ...table(
    "events",
    "A change of an organization, written in the transaction of the change and never changed. Grows with each change; kept forever unless SERVICE_RETENTION_EVENTS says otherwise.",
    `
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL,
    resource text,
    occurred_at timestamptz NOT NULL,
    actor jsonb NOT NULL,
    data json NOT NULL,
    previous json,
    PRIMARY KEY (organization_id, id)
  `,
  ),
  ...table(
    "event_arrivals",
    "An event without a position yet, written in its transaction. Grows until the next placing, about a second.",
    `
    organization_id uuid NOT NULL,
    event_id uuid NOT NULL,
    PRIMARY KEY (organization_id, event_id)
  `,
    "WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000)",
  ),
  // The position is the order in which readers see the stream. It is assigned after the commit. Ids are generated before it, so a
  // reader that resumed by id could miss an event whose transaction committed late. `leaf` is the hash of the event in the tree of the
  // event log. The columns by which readers filter are null once retention has deleted the event. They are compared byte by byte,
  // which costs less than an order of words.
  ...table(
    "event_positions",
    "The place of an event in its stream, and its leaf in the event log. Written once, when the event is placed; retention empties all but the leaf. Grows by a row for each event; never deleted.",
    `
    organization_id uuid NOT NULL,
    position bigint NOT NULL,
    event_id uuid,
    leaf bytea,
    type text COLLATE "C",
    resource text COLLATE "C",
    actor_id text COLLATE "C",
    PRIMARY KEY (organization_id, position)
  `,
  ),
  `CREATE UNIQUE INDEX event_positions_event ON event_positions (organization_id, event_id) WHERE event_id IS NOT NULL`,
  `CREATE INDEX event_positions_type ON event_positions (organization_id, type, position) WHERE type IS NOT NULL`,
  `CREATE INDEX event_positions_resource ON event_positions (organization_id, resource, position) WHERE resource IS NOT NULL`,
  // Events of one actor. The type comes before the position, so that an actor's rare types are one range each; without
  // the filter `type`, a page merges the ranges of all types that the actor has.
  `CREATE INDEX event_positions_actor ON event_positions (organization_id, actor_id, type, position) WHERE actor_id IS NOT NULL`,
  // The tree of hashes has the positions after `base` up to `sealed_to`. `log` says which log of the organization it is:
  // `keyshelf audit restart` begins another one. Retention has deleted the events up to `pruned_to`.
  ...table(
    "event_streams",
    "The last position of a stream. It outlives the events, so that no position is assigned twice. Grows with each organization.",
    `
    organization_id uuid PRIMARY KEY,
    head bigint NOT NULL,
    sealed_to bigint NOT NULL DEFAULT 0,
    pruned_to bigint NOT NULL DEFAULT 0,
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
