/** The names of events, for the filter and for subscriptions. */
import { eventNames as unsorted } from "../../../../src/kernel/values/EventNames.ts"
import type { EventName } from "../Contract.ts"

export const eventNames: ReadonlyArray<EventName> = unsorted.toSorted()
