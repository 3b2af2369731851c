/** The meters and events of a history. */
import { amountOf, storedDecimal } from "../../../kernel/values/Decimal.ts"
import { isConcurrent } from "../ledger/Account.ts"
import type { Meter } from "../ledger/Model.ts"
import type { UsageEventRecord } from "./Model.ts"
import type { EventRow } from "./Repo.ts"
import { eventId } from "./Rules.ts"

export const eventOf = (
  meter: Meter,
  { behavior: _, credits, ordinal, periodStart, value, ...event }: EventRow,
): UsageEventRecord => ({
  id: eventId({ periodStart, ordinal }, meter),
  value: amountOf(storedDecimal(value)),
  ...event,
  ...(credits === null
    ? {}
    : { credits: credits.map(({ id, quantity }) => ({ id, quantity: amountOf(storedDecimal(quantity)) })) }),
})

/** Whether usage of the meter is reported: then it has events. */
export const isReported = (meter: Meter): boolean => meter.type === "NUMBER" && !isConcurrent(meter)
