/** How many records an organization has, whose access ends, and how far a new one is set up. */
import { Schema } from "effect"
import { component } from "../../kernel/contract/Component.ts"
import { MAX_COUNTED } from "../../kernel/contract/dryruns/Impact.ts"
import { Timestamp } from "../../kernel/values/Timestamp.ts"

/** The days in which a license ends soon. */
export const SOON_DAYS = 30

/** The maximum number of instances that are listed. */
export const MAX_LISTED = 20

const counted = {
  count: Schema.Int.annotate({ description: `How many there are, at most ${MAX_COUNTED.toLocaleString("en")}` }),
  truncated: Schema.Boolean.annotate({ description: "Whether there are more than were counted" }),
}

/** A count, exact up to 10,000. */
export const Counted = Schema.Struct(counted).annotate(component("Counted", { count: 42, truncated: false }))
export type Counted = typeof Counted.Type

/** An instance whose access ends. */
export const EndingAccess = Schema.Struct({
  slug: Schema.String,
  name: Schema.String,
  customerSlug: Schema.String,
  licenseSlug: Schema.String,
  endLicenseDate: Timestamp,
  accessEndsAt: Timestamp.annotate({ description: "The end of the license and of its grace period" }),
}).annotate(
  component("EndingAccess", {
    slug: "globex-production",
    name: "Globex production",
    customerSlug: "globex",
    licenseSlug: "pro-2",
  }),
)
export type EndingAccess = typeof EndingAccess.Type

const endingInstances = (name: string, items: string) =>
  Schema.Struct({ ...counted, items: Schema.Array(EndingAccess).annotate({ description: items }) }).annotate(
    component(name, { count: 1, truncated: false }),
  )

/** What a new organization has. */
export const SetUp = Schema.Struct({
  entitlement: Schema.Boolean,
  license: Schema.Boolean,
  customer: Schema.Boolean,
  instance: Schema.Boolean,
  licenseKey: Schema.Boolean.annotate({ description: "Whether one of the first 100 instances has a license key" }),
  licenseKeyUsed: Schema.Boolean.annotate({ description: "Whether one of these keys was used" }),
}).annotate(
  component("SetUp", {
    entitlement: true,
    license: true,
    customer: true,
    instance: true,
    licenseKey: true,
    licenseKeyUsed: false,
  }),
)
export type SetUp = typeof SetUp.Type

/** Response of `GET /overview`. */
export const Overview = Schema.Struct({
  asOf: Timestamp,
  customers: Schema.NullOr(Counted).annotate({ description: "`null` without the scope `read:customers`" }),
  activeInstances: Counted.annotate({
    description: "Instances whose license has started and has not ended",
  }),
  ending: endingInstances("InstancesEnding", `The first ${MAX_LISTED} to end`).annotate({
    description: `Instances whose license ends within ${SOON_DAYS} days`,
  }),
  inGrace: endingInstances(
    "InstancesInGrace",
    `The first ${MAX_LISTED} whose grace period ends, of those that were counted`,
  ).annotate({
    description: "Instances whose license has ended and that still have access",
  }),
  setUp: SetUp.annotate({ description: "Which of its first records the organization has" }),
}).annotate(component("Overview"))
export type Overview = typeof Overview.Type
