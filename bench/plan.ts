/** The operations to measure, the servers that perform them, and the target ratios. */

/** Servers of a run. */
export type Contender =
  | "keyshelf"
  | "keyshelf-small"
  | "slow-node"
  | "slow-nodes"
  | "fastify"
  | "fastify-unnamed"
  | "floor"
  | "pgbench"
  | "sql"
  | "plain"
  | "citus"

/** Share of a core for each of the slow nodes. The rest is enough for the database and the load of two nodes. */
export const SHARE_OF_SLOW_NODE = 0.3

/** One way to perform an operation. */
export interface Way {
  readonly by: Contender
  /** The request kind of `load.mjs`, or the script of `pgbench`. */
  readonly load: string
  /** Prefix of the paths; `/api` if absent. */
  readonly prefix?: string
  readonly listener?: "core" | "internal"
  /** Number of organizations of the callers; all that have a token if absent. */
  readonly organizations?: number | undefined
  /** Limits the rate to a share of what another way of this operation reached last. Unlimited if absent. */
  readonly rate?: { readonly share: number; readonly of: string }
}

/** The ratio of `of` to `to` must reach `must` and should reach `aim`. With neither it is only reported. */
export interface Target {
  readonly of: string
  readonly to: string
  readonly must?: number
  readonly aim?: number
  /** The ratio must stay below `must`, and should stay below `aim`. */
  readonly below?: true
}

export interface Operation {
  readonly name: string
  readonly connections: number
  readonly ways: Record<string, Way>
  readonly targets: ReadonlyArray<Target>
}

const allContenders = (load: string): Record<string, Way> => ({
  keyshelf: { by: "keyshelf", load },
  fastify: { by: "fastify", load },
  "fastify, unnamed": { by: "fastify-unnamed", load },
  floor: { by: "floor", load },
})

const checksAndRead: Record<string, Way> = {
  "one entitlement": { by: "keyshelf", load: "check1" },
  "ten entitlements": { by: "keyshelf", load: "check10" },
  "read of a customer": { by: "keyshelf", load: "customer" },
}

/** Compares a full database with one of a thousandth of the usage, one request at a time: the cost of growth. */
const growth = (name: string, load: string): Operation => ({
  name: `growth: ${name}`,
  connections: 1,
  ways: { full: { by: "keyshelf", load }, small: { by: "keyshelf-small", load } },
  // A latency ratio below 1.3 is a rate ratio above its inverse.
  targets: [{ of: "full", to: "small", must: 0.77, aim: 0.91 }],
})

/** Compares two nodes with one. Their processor time is limited, so that the database is not the bottleneck. */
const nodes = (name: string, load: string, organizations?: 1): Operation => ({
  name: `nodes: ${name}`,
  // Enough to keep two nodes busy.
  connections: 128,
  ways: {
    "two nodes": { by: "slow-nodes", load, organizations },
    "one node": { by: "slow-node", load, organizations },
  },
  targets: [{ of: "two nodes", to: "one node", must: 1.6 }],
})

export const operations: ReadonlyArray<Operation> = [
  {
    name: "read: GET /customers/{slug}",
    connections: 32,
    ways: { ...allContenders("customer"), "pgbench, both statements": { by: "pgbench", load: "customer" } },
    targets: [
      { of: "keyshelf", to: "fastify", must: 0.9, aim: 1.1 },
      { of: "keyshelf", to: "fastify, unnamed", must: 2.5 },
    ],
  },
  {
    name: "list: GET /entitlements?limit=50",
    connections: 32,
    ways: allContenders("entitlements"),
    targets: [{ of: "keyshelf", to: "fastify", must: 0.9, aim: 1.5 }],
  },
  {
    name: "create: POST /components",
    connections: 32,
    ways: {
      keyshelf: { by: "keyshelf", load: "component" },
      fastify: { by: "fastify", load: "component" },
      "fastify, one statement": { by: "fastify", load: "component", prefix: "/single" },
      floor: { by: "floor", load: "component" },
      "pgbench, one statement": { by: "pgbench", load: "component" },
    },
    targets: [
      { of: "keyshelf", to: "fastify", must: 1.2 },
      { of: "keyshelf", to: "fastify, one statement", aim: 1.0 },
    ],
  },
  {
    name: "check",
    connections: 32,
    ways: {
      ...checksAndRead,
      "one entitlement, one organization": { by: "keyshelf", load: "check1", organizations: 1 },
      "ten entitlements, one organization": { by: "keyshelf", load: "check10", organizations: 1 },
      "fastify, one entitlement": { by: "fastify", load: "check1" },
      "fastify, ten entitlements": { by: "fastify", load: "check10" },
      "floor, one entitlement": { by: "floor", load: "check1" },
      "floor, ten entitlements": { by: "floor", load: "check10" },
      "floor, read of a customer": { by: "floor", load: "customer" },
      "one entitlement, at 80 % of its rate": {
        by: "keyshelf",
        load: "check1",
        rate: { share: 0.8, of: "one entitlement" },
      },
      // Shows how much the machine itself adds to the p99.
      "fastify, one entitlement, at 80 % of its rate": {
        by: "fastify",
        load: "check1",
        rate: { share: 0.8, of: "fastify, one entitlement" },
      },
    },
    targets: [
      { of: "one entitlement", to: "read of a customer", must: 0.9 },
      { of: "ten entitlements", to: "one entitlement", must: 0.667 },
      { of: "one entitlement, one organization", to: "read of a customer" },
      { of: "ten entitlements, one organization", to: "one entitlement, one organization" },
      { of: "one entitlement", to: "fastify, one entitlement" },
      { of: "ten entitlements", to: "fastify, ten entitlements" },
      { of: "floor, one entitlement", to: "floor, read of a customer" },
      { of: "floor, ten entitlements", to: "floor, one entitlement" },
    ],
  },
  {
    // Latency without concurrent requests.
    name: "check, one at a time",
    connections: 1,
    ways: checksAndRead,
    targets: [
      { of: "one entitlement", to: "read of a customer" },
      { of: "ten entitlements", to: "one entitlement", must: 0.667 },
    ],
  },
  {
    name: "consume and report",
    connections: 32,
    ways: {
      "consume, one hot counter": { by: "keyshelf", load: "consumeHot", organizations: 1 },
      "pgbench, the row's update": { by: "pgbench", load: "hot" },
      "consume, spread": { by: "keyshelf", load: "consumeSpread" },
      "usage report": { by: "keyshelf", load: "report" },
      create: { by: "keyshelf", load: "component" },
      "fastify, consume, one hot counter": { by: "fastify", load: "consumeHot", organizations: 1 },
      "fastify, consume, spread": { by: "fastify", load: "consumeSpread" },
      "fastify, usage report": { by: "fastify", load: "report" },
      "floor, consume, spread": { by: "floor", load: "consumeSpread" },
      "floor, usage report": { by: "floor", load: "report" },
    },
    targets: [
      { of: "consume, one hot counter", to: "pgbench, the row's update", must: 0.5, aim: 0.8 },
      { of: "consume, spread", to: "create", must: 0.8 },
      { of: "usage report", to: "create", must: 0.8 },
      { of: "consume, one hot counter", to: "fastify, consume, one hot counter" },
      { of: "consume, spread", to: "fastify, consume, spread" },
      { of: "usage report", to: "fastify, usage report" },
    ],
  },
  {
    name: "refill of a tranche",
    connections: 32,
    ways: {
      "refill with one line": { by: "keyshelf", load: "refill" },
      "consume, spread": { by: "keyshelf", load: "consumeSpread" },
    },
    targets: [{ of: "refill with one line", to: "consume, spread", must: 0.4 }],
  },
  {
    name: "usage events, batches of 500",
    connections: 4,
    ways: {
      keyshelf: { by: "keyshelf", load: "usageEvents" },
      "bare INSERT ... ON CONFLICT of 500 rows": { by: "sql", load: "usageEvents" },
    },
    targets: [{ of: "keyshelf", to: "bare INSERT ... ON CONFLICT of 500 rows", must: 0.5, aim: 0.8 }],
  },
  {
    name: "token validation",
    connections: 32,
    ways: {
      keyshelf: { by: "keyshelf", load: "validate", listener: "internal" },
      "read of a customer": { by: "keyshelf", load: "customer" },
      fastify: { by: "fastify", load: "validate", listener: "internal" },
      floor: { by: "floor", load: "validate", listener: "internal" },
    },
    targets: [{ of: "keyshelf", to: "fastify" }],
  },
  {
    name: "manifest of 20 flags",
    connections: 32,
    ways: allContenders("manifest"),
    targets: [{ of: "keyshelf", to: "fastify" }],
  },
  growth("read of a customer", "customer"),
  growth("list of 50 entitlements", "entitlements"),
  growth("check of one entitlement", "check1"),
  growth("consume", "consumeSpread"),
  growth("usage report", "report"),
  nodes("read of a customer", "customer"),
  nodes("check of one entitlement", "check1"),
  nodes("consume, spread", "consumeSpread"),
  nodes("consume, one hot counter", "consumeHot", 1),
  nodes("create", "component"),
]

/**
 * Compares a plain server with a Citus cluster on the same machine, which cannot win. The targets are about two thirds
 * of what was found: below them, a statement costs more than it did.
 */
const onCitus = (
  name: string,
  load: string,
  must: number,
  { connections = 32, organizations }: { readonly connections?: number; readonly organizations?: 1 } = {},
): Operation => ({
  name,
  connections,
  ways: { plain: { by: "plain", load, organizations }, citus: { by: "citus", load, organizations } },
  targets: [{ of: "citus", to: "plain", must }],
})

/** The target of the dispatch of webhooks on Citus. */
export const DISPATCH_ON_CITUS = 0.1

/** The operations of `--citus`. */
export const citusOperations: ReadonlyArray<Operation> = [
  onCitus("check", "check1", 0.05),
  onCitus("consume, one hot counter", "consumeHot", 0.14, { organizations: 1 }),
  onCitus("consume, spread", "consumeSpread", 0.045),
  onCitus("usage report", "report", 0.04),
  onCitus("create", "component", 0.045),
  onCitus("usage events, batches of 500", "usageEvents", 0.5, { connections: 4 }),
]
