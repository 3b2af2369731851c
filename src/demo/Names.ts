/** What the furnished organization sells, and to whom: the same in every run. */

const FIRST = ["Acme", "Blue Harbor", "Cedar", "Delta", "Evergreen", "Falcon", "Globex", "Hooli", "Initech", "Juniper"]
const SECOND = ["Logistics", "Health", "Robotics", "Energy", "Media"]

/** Names of 50 customers. */
export const customers: ReadonlyArray<string> = SECOND.flatMap((second) => FIRST.map((first) => `${first} ${second}`))

/** The purposes of the four instances of each customer. */
export const purposes = ["production", "staging", "analytics", "disaster recovery"] as const

/** The entitlements of the catalogue. */
export const entitlements = [
  {
    slug: "api-calls",
    name: "API calls",
    type: "NUMBER",
    aggregationMethod: "SUM",
    resetPeriod: "MONTH",
    warningThresholdPercent: 80,
    unitSingular: "call",
    unitPlural: "calls",
  },
  { slug: "active-users", name: "Active users", type: "NUMBER", aggregationMethod: "MAX", resetPeriod: "MONTH" },
  { slug: "storage-gb", name: "Storage", type: "NUMBER", aggregationMethod: "LATEST", unitSingular: "GB" },
  { slug: "sso", name: "Single sign-on", type: "BOOLEAN" },
  { slug: "audit-log", name: "Audit log", type: "BOOLEAN" },
  { slug: "branding", name: "Branding", type: "CONFIG" },
] as const

/** A license version, what it grants, and how much an instance with it uses: calls in a month, and users. */
export interface Version {
  readonly family: string
  readonly slug: string
  readonly name: string
  readonly isDefault: boolean
  readonly grants: Readonly<Record<string, number | boolean | object>>
  readonly monthlyCalls: number
  readonly users: number
}

const branding = { logo: true, colors: ["#1f6feb", "#0d1117"] }

/** Three license families in six versions. */
export const versions: ReadonlyArray<Version> = [
  {
    family: "starter",
    slug: "starter",
    name: "Starter",
    isDefault: true,
    grants: { "api-calls": 1_000, "active-users": 5, "storage-gb": 10 },
    monthlyCalls: 850,
    users: 4,
  },
  {
    family: "team",
    slug: "team",
    name: "Team",
    isDefault: false,
    grants: { "api-calls": 10_000, "active-users": 25, "storage-gb": 100, sso: true },
    monthlyCalls: 6_000,
    users: 20,
  },
  {
    family: "team",
    slug: "team-2",
    name: "Team",
    isDefault: true,
    grants: { "api-calls": 25_000, "active-users": 50, "storage-gb": 250, sso: true },
    monthlyCalls: 17_000,
    users: 40,
  },
  {
    family: "enterprise",
    slug: "enterprise",
    name: "Enterprise",
    isDefault: false,
    grants: { "api-calls": 250_000, "active-users": 500, "storage-gb": 2_000, sso: true, "audit-log": true },
    monthlyCalls: 150_000,
    users: 300,
  },
  {
    family: "enterprise",
    slug: "enterprise-2",
    name: "Enterprise",
    isDefault: false,
    grants: { "api-calls": 500_000, "active-users": 1_000, "storage-gb": 5_000, sso: true, "audit-log": true },
    monthlyCalls: 300_000,
    users: 700,
  },
  {
    family: "enterprise",
    slug: "enterprise-3",
    name: "Enterprise",
    isDefault: true,
    grants: { "api-calls": -1, "active-users": -1, "storage-gb": 10_000, sso: true, "audit-log": true, branding },
    monthlyCalls: 800_000,
    users: 900,
  },
]

/** A feature that is on for some customers only. */
export const flags = ["new-dashboard", "bulk-export", "dark-mode"] as const

/** Where the vendor runs instances for its customers. */
export const zones = ["Frankfurt", "Dublin", "Virginia", "Singapore"] as const

/** The components of each release. */
export const components = ["Gateway", "Search engine", "Worker"] as const
