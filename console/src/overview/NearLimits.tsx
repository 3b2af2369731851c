/** Who is near a limit: the entitlements of instances that reported it in their current period. */
import type { EventRecord } from "../kernel/Contract.ts"
import { approximate, formatAmount } from "../kernel/Amount.ts"
import type { Amount } from "../kernel/Amount.ts"
import { useRows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { Meter } from "../widgets/Meter.tsx"
import { Section } from "../widgets/Page.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import { Moment, Tag } from "../widgets/Tag.tsx"
import type { Tone } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"
import { Trend } from "./Trend.tsx"

const EVENTS = "200"
const SHOWN = 10

const states = {
  ENTITLEMENT_USAGE_WARNING_THRESHOLD_REACHED: ["warn", t.warned],
  ENTITLEMENT_USAGE_LIMIT_REACHED: ["danger", t.reached],
  ENTITLEMENT_USAGE_CAP_EXCEEDED: ["danger", t.exceeded],
} as const satisfies Partial<Record<EventRecord["type"], readonly [Tone, string]>>

type NearName = keyof typeof states
const names = Object.keys(states) as ReadonlyArray<NearName>

const isNear = (type: string): type is NearName => type in states

/** An entitlement of an instance as it was when it reached a limit. */
interface Near {
  readonly id: string
  readonly at: string
  readonly type: NearName
  readonly instance: string
  readonly entitlement: string
  readonly name: string
  readonly used: Amount
  readonly limit: Amount
  readonly isOver: boolean
}

const amountIn = (value: unknown): Amount | undefined => {
  const amount = typeof value === "object" && value !== null && "value" in value ? value.value : undefined
  return typeof amount === "number" || typeof amount === "string" ? amount : undefined
}

const nearOf = ({ data, timestamp, type }: EventRecord): Near | undefined => {
  const [used, limit] = [amountIn(data["usageValue"]), amountIn(data["licenseValue"])]
  const text = (name: string) => {
    const value = data[name]
    return typeof value === "string" ? value : undefined
  }
  const [instance, entitlement, ends] = [text("instanceSlug"), text("entitlementSlug"), text("currentPeriodEnd")]
  if (!isNear(type) || instance === undefined || entitlement === undefined) return undefined
  if (used === undefined || limit === undefined) return undefined
  const isOver = ends !== undefined && Date.parse(ends) <= Date.now()
  return {
    id: `${instance}/${entitlement}`,
    at: timestamp,
    type,
    instance,
    entitlement,
    name: text("entitlementName") ?? entitlement,
    used,
    limit,
    isOver,
  }
}

/** The newest of each entitlement of an instance, if its period is still the current one. */
const currentOf = (events: ReadonlyArray<EventRecord>): ReadonlyArray<Near> => {
  const newest = new Map<string, Near>()
  for (const near of events.map(nearOf)) {
    if (near !== undefined && !newest.has(near.id)) newest.set(near.id, near)
  }
  return [...newest.values()].filter(({ isOver }) => !isOver)
}

const columns: ReadonlyArray<Column<Near>> = [
  {
    id: "instance",
    title: t.instance,
    width: "2fr",
    cell: ({ instance }) => <RecordLink kind="instance" slug={instance} />,
  },
  {
    id: "entitlement",
    title: t.entitlement,
    width: "1.5fr",
    cell: ({ entitlement, name }) => (
      <RecordLink kind="entitlement" slug={entitlement}>
        {name}
      </RecordLink>
    ),
  },
  {
    id: "used",
    title: t.used,
    width: "1.5fr",
    cell: ({ instance, limit, name, used }) => (
      <>
        {t.usedOf(formatAmount(used), formatAmount(limit))}
        {approximate(limit) > 0 && <Meter label={t.usageOf(name, instance)} used={used} limit={limit} />}
      </>
    ),
  },
  {
    id: "state",
    title: t.state,
    width: "1.2fr",
    cell: ({ type }) => {
      const [tone, text] = states[type]
      return <Tag tone={tone}>{text}</Tag>
    },
  },
  { id: "since", title: t.since, width: "190px", cell: ({ at }) => <Moment at={at} /> },
]

export const NearLimits = () => {
  const readsInstances = useCan("read:instances")
  const events = useRows("GET /api/events", { query: { order: "desc", type: names } }, { pageSize: EVENTS })
  const current = events.rows && currentOf(events.rows)
  const [first, ...others] = current?.slice(0, SHOWN) ?? []
  return (
    <>
      <Section title={t.near}>
        <DataTable
          label={t.near}
          columns={columns}
          rows={{ ...events, rows: current?.slice(0, SHOWN), hasMore: false }}
          rowKey={({ id }) => id}
          empty={<p className="muted">{t.noNear}</p>}
        />
        {current !== undefined && current.length > SHOWN && (
          <p className="muted">{t.shown(SHOWN, `${formatAmount(current.length)}${events.hasMore ? "+" : ""}`)}</p>
        )}
      </Section>
      {first !== undefined && readsInstances && <Trend of={[first, ...others]} />}
    </>
  )
}
