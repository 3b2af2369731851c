import { statements } from "./statements.ts"

export default statements(
  `CREATE TABLE webhook_endpoints (
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
  )`,
  // An endpoint has several secrets during a rotation. Each is encrypted with the installation's key.
  `CREATE TABLE webhook_secrets (
    organization_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    id uuid NOT NULL,
    sealed text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz,
    PRIMARY KEY (organization_id, endpoint_id, id),
    FOREIGN KEY (organization_id, endpoint_id) REFERENCES webhook_endpoints (organization_id, id) ON DELETE CASCADE
  )`,
  // A row is written in the transaction of its event, and deleted when the deliveries of the event are queued.
  `CREATE TABLE webhook_outbox (
    organization_id uuid NOT NULL,
    event_id uuid NOT NULL,
    due_at timestamptz NOT NULL,
    claims smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, event_id)
  ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000)`,
  `CREATE INDEX webhook_outbox_due ON webhook_outbox (due_at)`,
  // One row per endpoint. A transaction that queues a delivery also lowers head_due_at.
  `CREATE TABLE webhook_lanes (
    organization_id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    head_due_at timestamptz NOT NULL,
    last_served_at timestamptz NOT NULL,
    PRIMARY KEY (organization_id, endpoint_id)
  ) WITH (fillfactor = 50)`,
  // An empty lane has head_due_at = infinity, so claims do not read it.
  `CREATE INDEX webhook_lanes_served ON webhook_lanes (last_served_at) WHERE head_due_at < 'infinity'`,
  // Pending deliveries only. due_at is the queue's only clock: a claim sets it to the end of the lease. lease is the id
  // of the attempt in flight.
  `CREATE TABLE webhook_queue (
    organization_id uuid NOT NULL,
    id uuid NOT NULL,
    endpoint_id uuid NOT NULL,
    event_id uuid NOT NULL,
    event_name text NOT NULL,
    attempt smallint NOT NULL,
    due_at timestamptz NOT NULL,
    lease uuid,
    claimed_at timestamptz,
    claims smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (organization_id, id)
  ) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0)`,
  `CREATE INDEX webhook_queue_due ON webhook_queue (organization_id, endpoint_id, due_at)`,
  `CREATE INDEX webhook_queue_leased ON webhook_queue (organization_id, endpoint_id) WHERE lease IS NOT NULL`,
  // The history: one row per attempt, one partition per day, created in advance and dropped after the retention period.
  `CREATE TABLE webhook_attempts (
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
  ) PARTITION BY RANGE ("timestamp")`,
  // INCLUDE holds the other filter columns, so that an endpoint's attempts are filtered without reading the rows.
  `CREATE INDEX webhook_attempts_endpoint ON webhook_attempts (organization_id, endpoint_id, "timestamp", id)
    INCLUDE (state, event_name)`,
  `CREATE INDEX webhook_attempts_event_name ON webhook_attempts (organization_id, event_name, "timestamp", id)`,
  `CREATE INDEX webhook_attempts_event ON webhook_attempts (organization_id, event_id, "timestamp", id)`,
  `CREATE INDEX webhook_attempts_failure ON webhook_attempts (organization_id, state, "timestamp", id)
    WHERE state <> 'Success'`,
  // The failures of one endpoint, among many of other endpoints; also the attempts to close when it is deleted.
  `CREATE INDEX webhook_attempts_endpoint_failure ON webhook_attempts
    (organization_id, endpoint_id, state, "timestamp", id) WHERE state <> 'Success'`,
  `CREATE INDEX webhook_attempts_delivery ON webhook_attempts (organization_id, delivery_id)`,
)
