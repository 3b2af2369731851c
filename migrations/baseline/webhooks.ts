import { table } from "../statements.ts"

const endpoints: ReadonlyArray<string> = [
  ...table(
    "webhook_endpoints",
    "A URL of an organization that gets events. Grows with each endpoint.",
    `
    organization_id uuid NOT NULL REFERENCES organizations (id),
    id uuid NOT NULL,
    url text NOT NULL,
    event_names text[] NOT NULL,
    description text,
    -- Time of the first failure since the last success; null after a success.
    failing_since timestamptz,
    disabled_at timestamptz,
    disabled_reason text,
    created_at timestamptz NOT NULL,
    created_by jsonb NOT NULL,
    updated_at timestamptz NOT NULL,
    updated_by jsonb NOT NULL,
    PRIMARY KEY (organization_id, id)
  `,
  ),
  ...table(
    "webhook_secrets",
    "A secret of an endpoint, encrypted with the installation's key. Grows with each endpoint; there are several during a rotation.",
    `
    organization_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    id uuid NOT NULL,
    sealed text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (organization_id, endpoint_id, id),
    FOREIGN KEY (organization_id, endpoint_id) REFERENCES webhook_endpoints (organization_id, id) ON DELETE CASCADE
  `,
  ),
  `CREATE INDEX webhook_secrets_expiry ON webhook_secrets (expires_at) WHERE expires_at IS NOT NULL`,
]

const queue: ReadonlyArray<string> = [
  // A transaction that queues a delivery also lowers head_due_at; an empty lane has `infinity`. Every claim updates a lane. Without an index
  // on the updated columns, PostgreSQL keeps the new tuple on the same page (HOT) and prunes the old one at the next read.
  ...table(
    "webhook_lanes",
    "When the next delivery of an endpoint is due. Grows with each endpoint that has had a delivery.",
    `
    organization_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    head_due_at timestamptz NOT NULL,
    last_served_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, endpoint_id)
  `,
    "WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000)",
  ),
  // due_at is the queue's only clock: a claim sets it to the end of the lease. lease is the id of the attempt in flight. owner is the
  // process that made the claim, if other processes can detect its exit; ignored on rows without a lease.
  ...table(
    "webhook_queue",
    "A pending delivery of an event to an endpoint. Grows while endpoints are slow or away; a delivery that ended is deleted.",
    `
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    event_id uuid NOT NULL,
    event_name text NOT NULL,
    attempt smallint NOT NULL,
    due_at timestamptz NOT NULL,
    lease uuid,
    owner uuid,
    claimed_at timestamptz,
    claims smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, id)
  `,
    `WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0)`,
  ),
  // Events of one transaction are due at the same time. Deduplication would store entries of equal keys in one tuple, which scans skip
  // only when all of them are dead. Each claim would reread the entries of earlier claims.
  `CREATE INDEX webhook_queue_due ON webhook_queue (organization_id, endpoint_id, due_at) WITH (deduplicate_items = off)`,
  // Each delivery leaves a dead index entry, which remains while another transaction holds an old snapshot. Deliveries in
  // flight were claimed within the last 30 seconds. By claimed_at a claim finds them without scanning the entries before.
  `CREATE INDEX webhook_queue_claimed ON webhook_queue (claimed_at) WITH (deduplicate_items = off) WHERE lease IS NOT NULL`,
]

const history: ReadonlyArray<string> = [
  ...table(
    "webhook_attempts",
    "An attempt to deliver an event. Grows by a row for each attempt, in one partition per day, created in advance and dropped after the retention period.",
    `
    organization_id uuid NOT NULL,
    "timestamp" timestamptz NOT NULL,
    id uuid NOT NULL,
    delivery_id uuid NOT NULL,
    event_id uuid NOT NULL,
    event_name text NOT NULL,
    endpoint_id uuid NOT NULL,
    endpoint_url text NOT NULL,
    attempt smallint NOT NULL,
    state text NOT NULL CHECK (state IN ('Success', 'Failure', 'Failed')),
    status_code smallint,
    response_body text,
    error text,
    duration_ms integer NOT NULL,
    next_attempt_at timestamptz,
    PRIMARY KEY (organization_id, "timestamp", id)
  `,
    `PARTITION BY RANGE ("timestamp")`,
  ),
  // INCLUDE holds the other filter columns, so that attempts are filtered without reading the rows.
  `CREATE INDEX webhook_attempts_endpoint ON webhook_attempts (organization_id, endpoint_id, "timestamp", id)
    INCLUDE (state, event_name)`,
  `CREATE INDEX webhook_attempts_event_name ON webhook_attempts (organization_id, event_name, "timestamp", id)`,
  `CREATE INDEX webhook_attempts_event ON webhook_attempts (organization_id, event_id, "timestamp", id)`,
  `CREATE INDEX webhook_attempts_failure ON webhook_attempts (organization_id, state, "timestamp", id)
    WHERE state <> 'Success'`,
  // The failures of one endpoint, among many of other endpoints; also the attempts to close when it is deleted.
  `CREATE INDEX webhook_attempts_endpoint_failure ON webhook_attempts
    (organization_id, endpoint_id, state, "timestamp", id) WHERE state <> 'Success'`,
  `CREATE INDEX webhook_attempts_status ON webhook_attempts (organization_id, status_code, "timestamp", id)
    INCLUDE (state, event_name)`,
  // The rare status of one endpoint, among many attempts of other endpoints with the same status.
  `CREATE INDEX webhook_attempts_endpoint_status ON webhook_attempts
    (organization_id, endpoint_id, status_code, "timestamp", id) INCLUDE (state, event_name)`,
  `CREATE INDEX webhook_attempts_delivery ON webhook_attempts (organization_id, delivery_id)`,
]

/** Endpoints, their queue, and the history of their deliveries. The outbox belongs to the events. */
export const webhooks: ReadonlyArray<string> = [...endpoints, ...queue, ...history]
