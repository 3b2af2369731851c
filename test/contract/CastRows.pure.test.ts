/** Which rows the domains read without decoding them, and why. */
import { assert, describe, it } from "@effect/vitest"
import { readdirSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const root = resolve(import.meta.dirname, "../../src/domains")
const sources = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"))

const COMMENT = /\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm

/** The functions that return rows under a type that nothing checks, and statements with such a type. */
const CASTS = /\b(?:records|record|affectedRows)<([\s\S]+?)>\(\)|\bsql(?:\.unsafe)?<([\s\S]+?)>[`(]/g

/** The types to which a text casts rows, each once. */
const castsIn = (text: string): ReadonlyArray<string> => {
  const types = Array.from(text.replaceAll(COMMENT, "").matchAll(CASTS), ([, function_, statement]) =>
    (function_ ?? statement ?? "").replaceAll(/\s+/g, " "),
  )
  return [...new Set(types)].toSorted()
}

type Casts = Readonly<Record<string, ReadonlyArray<string>>>

/** Encoding the response checks them. What such a row decides, it decides with properties of the response. */
const inResponses: Casts = {
  "access/Repo.ts": ["AccessToken", "OwnRecord"],
  "access/ServiceAccountsRepo.ts": ["AccountRow", "ServiceAccount"],
  "components/Repo.ts": ["Component"],
  "customers/Repo.ts": ["Customer"],
  "entitlements/Repo.ts": ["Row"],
  "events/Repo.ts": ["PositionedEvent"],
  "flags/Repo.ts": ["FeatureFlag", "ManifestRow"],
  "groups/Repo.ts": ["EntitlementGroup"],
  "impact/Repo.ts": [
    "AffectedInstance",
    'ItemOf<ConnectorImpact["integrationRecords"]>',
    'ItemOf<InstanceDeletionImpact["reservations"]>',
    'ItemOf<InstanceDeletionImpact["usageEvents"]>',
    'ItemOf<RevocationImpact["bundles"]>',
  ],
  "instances/DependentsRepo.ts": ["AffectedInstance"],
  "instances/Repo.ts": ["Instance"],
  "instances/sharded/RepoSharded.ts": ["Instance"],
  "integrations/Repo.ts": ["IntegrationRecord", "NamedIntegrationRecord & { readonly id: string }"],
  "licensemoves/Repo.ts": ["LicenseMigrationItem & { readonly position: number }", "MigrationRow"],
  "licenses/Repo.ts": ["FamilyRow", "License"],
  "licenses/grants/Repo.ts": ["{ readonly slug: string }"],
  "metadata/Repo.ts": ["MetadataFieldRow"],
  "offline/bundles/Repo.ts": ["BundleRow"],
  "offline/ledgers/Repo.ts": ["LedgerRow"],
  "organizations/Repo.ts": ["Organization"],
  "overview/Repo.ts": ["EndingAccess"],
  "people/Repo.ts": ["MemberRow", "MembershipRow", "User"],
  "releases/Repo.ts": ["LinkedComponent", "{ readonly slug: string }"],
  "usage/InstanceUsageRepo.ts": ["AffectedInstance"],
  "usage/credits/Repo.ts": ["AffectedInstance"],
  "usage/history/Repo.ts": ["EventRow"],
  "usage/history/RollupsRepo.ts": ["HistoryRow"],
  "usage/leases/Repo.ts": ['Omit<LeaseRow, "sweepAfter">'],
  "webhooks/endpoints/Repo.ts": ["WebhookEndpoint"],
  "webhooks/history/HistorySql.ts": ["AttemptEntry"],
  "zones/Repo.ts": ["Deployment", "DeploymentZone", "{ readonly slug: string }"],
}

/** Decoding would take more than a hundredth of the request. Tests decode rows of them, or each write has validated them. */
const onHotPaths: Casts = {
  "access/Repo.ts": ["StoredCredential"],
  "flags/Repo.ts": ["EvaluatedFlag"],
  "usage/check/hotpath/Repo.ts": ["CatalogRow & Numbered", "UsageRow & Numbered"],
  "usage/ledger/LedgerRepo.ts": ["LockedRow", "MeterRow", "StoredTotal"],
  "usage/ledger/optimistic/OptimisticRepo.ts": ["{ readonly organizationId: OrganizationId }"],
  "usage/ledger/optimistic/SnapshotSql.ts": ["SnapshotRow"],
}

/** The text of an event goes out, and is verified, as it is stored: one that somebody has altered must be found, not rejected. */
const asStored: Casts = {
  "events/Outbox.ts": ["StoredEvent"],
  "events/log/EventLog.ts": ["LogEvent"],
  "events/sharded/OutboxSharded.ts": ["StoredEvent"],
}

/** They are sent back to the database, which checks their types. */
const sentBack: Casts = {
  "usage/partitions/SumsRepo.ts": ["object"],
}

const reasons = [inResponses, onHotPaths, asStored, sentBack]

describe("the reader of casts", () => {
  it("finds functions and statements with a type, over several lines, but none in a comment", () => {
    assert.deepStrictEqual(castsIn("records<Customer>()(sql`SELECT 1`), record<Pick<A, 'b'>>()(sql``)"), [
      "Customer",
      "Pick<A, 'b'>",
    ])
    assert.deepStrictEqual(castsIn("sql<{\n  readonly count: number\n}>`SELECT 1`; sql.unsafe<Row>(text)"), [
      "Row",
      "{ readonly count: number }",
    ])
    assert.deepStrictEqual(castsIn("/** records<Customer>()(statement) */\n  // record<A>()\ndecoded(Row)(sql``)"), [])
  })
})

describe("rows of a domain", () => {
  it("are decoded, but for those that a response, a hot path or the database checks", () => {
    const found = sources.flatMap((file) =>
      castsIn(readFileSync(join(root, file), "utf8")).map((type) => `${file}: ${type}`),
    )
    const known = reasons.flatMap((casts) =>
      Object.entries(casts).flatMap(([file, types]) => types.map((type) => `${file}: ${type}`)),
    )
    assert.deepStrictEqual(found.toSorted(), known.toSorted())
  })
})
