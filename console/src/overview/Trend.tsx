/** The usage of thirty days, of an entitlement that is near its limit. The person may choose another one. */
import { useState } from "react"
import { approximate, formatAmount } from "../kernel/Amount.ts"
import { Problem } from "../kernel/Api.ts"
import type { UsageBucket } from "../kernel/Contract.ts"
import { formatBoundary, HOUR_MS, plusDays, thisHour } from "../kernel/Formats.ts"
import { useRead } from "../kernel/Queries.ts"
import { SelectField } from "../widgets/forms/Fields.tsx"
import { Section } from "../widgets/Page.tsx"
import { Read } from "../widgets/States.tsx"
import { t } from "./texts.en.ts"

const DAYS = 30

/** An entitlement of an instance. */
interface Metered {
  readonly id: string
  readonly instance: string
  readonly entitlement: string
  readonly name: string
}

/** A bar for each day. Without the limit, because that of a month says nothing about a day. The table beside it says the same. */
const Bars = ({ days }: { readonly days: ReadonlyArray<UsageBucket> }) => {
  const highest = Math.max(...days.map(({ value }) => approximate(value)), 0)
  const [first, last] = [days[0], days.at(-1)]
  return (
    <div className="trend" aria-hidden>
      <span className="muted">{formatAmount(highest)}</span>
      <div className="trend-bars">
        {days.map(({ start, value }) => (
          <span
            key={start}
            title={`${formatBoundary(start)}: ${formatAmount(value)}`}
            style={{ blockSize: `${highest === 0 ? 0 : (approximate(value) / highest) * 100}%` }}
          />
        ))}
      </div>
      <div className="trend-ends muted">
        <span>{first !== undefined && formatBoundary(first.start)}</span>
        <span>{last !== undefined && formatBoundary(last.start)}</span>
      </div>
    </div>
  )
}

export const Trend = ({ of }: { readonly of: readonly [Metered, ...ReadonlyArray<Metered>] }) => {
  const [chosen, setChosen] = useState(of[0].id)
  const { entitlement, instance, name } = of.find(({ id }) => id === chosen) ?? of[0]
  // With the hour that has begun, so that today is there.
  const to = new Date(Date.parse(thisHour()) + HOUR_MS).toISOString()
  const history = useRead("GET /api/instances/:instanceSlug/entitlements/:entitlementSlug/usage/history", {
    params: { instanceSlug: instance, entitlementSlug: entitlement },
    query: { bucket: "DAY", from: plusDays(to, -DAYS), to },
  })
  // What is held at a time, such as a seat, has no history (422); nor has an instance that was deleted since (404).
  const hasNone = history.error instanceof Problem && [404, 422].includes(history.error.status)
  const label = t.usageOf(name, instance)
  return (
    <Section
      title={t.trend}
      actions={
        <SelectField
          isInline
          label={t.trendOf}
          choices={of.map((one) => ({ id: one.id, title: t.usageOf(one.name, one.instance) }))}
          value={chosen}
          onChange={setChosen}
        />
      }
    >
      {hasNone ? (
        <p className="muted">{t.noTrend}</p>
      ) : (
        <Read of={history}>
          {({ items: found }) => (
            <>
              <Bars days={found} />
              <div className="visually-hidden">
                <table>
                  <caption>{label}</caption>
                  <tbody>
                    {found.map(({ start, value }) => (
                      <tr key={start}>
                        <th scope="row">{formatBoundary(start)}</th>
                        <td>{formatAmount(value)}</td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </>
          )}
        </Read>
      )}
    </Section>
  )
}
