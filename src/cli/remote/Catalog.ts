/** The remote commands, by the noun that they are about. Each calls one operation of the API. */
import { list } from "./catalog/Entries.ts"
import type { Noun } from "./catalog/Entries.ts"
import { OPERATIONS_NOUNS } from "./catalog/OperationsNouns.ts"
import { SALES_NOUNS } from "./catalog/SalesNouns.ts"

export type { Entry, Noun } from "./catalog/Entries.ts"

export const NOUNS: ReadonlyArray<Noun> = [...SALES_NOUNS, ...OPERATIONS_NOUNS]

/** The list of the events, to which `events` adds `tail`. */
export const EVENTS = list("listEvents", "timestamp", "type", "actor", "data")
