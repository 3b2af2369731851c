/** Finds records by their names, slugs and ids of other systems, with at most five requests at a time. */
import { call } from "../kernel/Api.ts"
import { allows } from "../kernel/Scopes.ts"
import type { Scope } from "../kernel/Scopes.ts"
import { t } from "../kernel/texts.en.ts"
import { coreNavigation } from "./navigation.ts"

const MAX_REQUESTS = 5
const LIMIT = "6"

/** A record that matches. */
export interface Found {
  readonly id: string
  readonly group: string
  readonly title: string
  readonly detail: string
  readonly to: string
}

interface Source {
  readonly scope: Scope
  readonly find: (q: string, signal: AbortSignal) => Promise<ReadonlyArray<Found>>
}

interface Named {
  readonly id: string
  readonly name: string
  readonly slug: string
}

interface Page<T> {
  readonly items: ReadonlyArray<T>
  readonly hasMore: boolean
}

const found =
  (group: string, path: string) =>
  <T extends Named>(
    records: ReadonlyArray<T>,
    detail: (record: T) => string = ({ slug }) => slug,
  ): ReadonlyArray<Found> =>
    records.map((record) => ({
      id: record.id,
      group,
      title: record.name,
      detail: detail(record),
      to: `${path}/${encodeURIComponent(record.slug)}`,
    }))

/** The first matches of a list that the service filters, and the way to all of them. */
const listed = <T extends Named>(
  scope: Scope,
  group: string,
  path: string,
  list: (query: { readonly q: string; readonly limit: string }, signal: AbortSignal) => Promise<Page<T>>,
  detail?: (record: T) => string,
): Source => ({
  scope,
  find: async (q, signal) => {
    const { hasMore, items } = await list({ q, limit: LIMIT }, signal)
    const records = found(group, path)(items, detail)
    const all = { id: `all ${path}`, group, title: t.app.searchAllOf(group.toLowerCase()), detail: "" }
    return hasMore ? [...records, { ...all, to: `${path}?${new URLSearchParams({ q })}` }] : records
  },
})

const sources: ReadonlyArray<Source> = [
  listed(
    "read:instances",
    t.nav.instances,
    "/instances",
    (query, signal) => call("GET /api/instances", { query }, { signal }),
    ({ customerSlug, slug }) => `${slug} - ${customerSlug}`,
  ),
  listed("read:customers", t.nav.customers, "/customers", (query, signal) =>
    call("GET /api/customers", { query }, { signal }),
  ),
  listed("read:licenses", t.nav.licenses, "/licenses", (query, signal) =>
    call("GET /api/licenses", { query }, { signal }),
  ),
  listed("read:entitlements", t.nav.entitlements, "/entitlements", (query, signal) =>
    call("GET /api/entitlements", { query }, { signal }),
  ),
  listed("read:deployment_zones", t.nav.zones, "/zones", (query, signal) =>
    call("GET /api/deployment-zones", { query }, { signal }),
  ),
]

/** The maximum number of records of a list that has no filter by name. */
const WHOLE = { query: { limit: "200" } }

/** A text without the differences that the service ignores. */
const folded = (text: string): string => text.normalize("NFKC").toLowerCase()

/** Whether each word of the search is in one of the texts. */
const matches = (q: string, ...texts: ReadonlyArray<string>): boolean => {
  const text = folded(texts.join(" "))
  return folded(q)
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/** A list that the service does not filter by name: it is read once, and searched here. */
const searched = <T>(
  scope: Scope,
  group: string,
  path: string,
  list: () => Promise<Page<T>>,
  namedOf: (record: T) => Named,
): (() => Source) => {
  const start = (): Source => {
    let read: Promise<Page<T>> | undefined
    return {
      scope,
      find: async (q) => {
        // Not bound to one search: the next one uses it too.
        read ??= list()
        const { items } = await read.catch((error: unknown) => {
          read = undefined
          throw error
        })
        const named = items.map(namedOf).filter(({ name, slug }) => matches(q, name, slug))
        return found(group, path)(named.slice(0, Number(LIMIT)))
      },
    }
  }
  return start
}

const searchedLists = [
  searched(
    "read:feature_flags",
    t.nav.flags,
    "/flags",
    () => call("GET /api/feature-flags", WHOLE),
    ({ id, key, name }) => ({ id, name: name ?? key, slug: key }),
  ),
  searched(
    "read:releases",
    t.nav.releases,
    "/releases",
    () => call("GET /api/releases", WHOLE),
    ({ id, slug, version }) => ({ id, name: version, slug }),
  ),
  searched(
    "read:components",
    t.nav.components,
    "/components",
    () => call("GET /api/components", WHOLE),
    (component) => component,
  ),
  searched(
    "read:entitlements",
    t.nav.entitlementGroups,
    "/entitlement-groups",
    () => call("GET /api/entitlement-groups", WHOLE),
    (group) => group,
  ),
  searched(
    "read:tokens",
    t.nav.serviceAccounts,
    "/service-accounts",
    () => call("GET /api/service-accounts", WHOLE),
    (account) => account,
  ),
]

/** The screens whose name has the text. */
const screensWith = (q: string, scopes: ReadonlyArray<string>): ReadonlyArray<Found> =>
  coreNavigation.flatMap(({ entries }) =>
    entries
      .filter(({ scope, title }) => matches(q, title) && (scope === undefined || allows(scopes, scope)))
      .map(({ title, to }) => ({ id: to, group: t.app.screens, title, detail: "", to })),
  )

type Lookup = Source["find"]

/** The customer with one of the vendor's own ids. */
const byOwnId: Lookup = async (q, signal) => {
  const { items } = await call("GET /api/customers", { query: { externalCustomerId: q, limit: LIMIT } }, { signal })
  return found(t.nav.customers, "/customers")(
    items,
    ({ externalCustomerId, slug }) => `${externalCustomerId} - ${slug}`,
  )
}

const PREFIX = "service.integration."

/** The records that an id of another system belongs to. Systems that do not have it answer 404. */
const lookupsIn = (connector: string, scopes: ReadonlyArray<string>): ReadonlyArray<Lookup> => {
  const adapter = connector.slice(PREFIX.length)
  const detail = (q: string) => `${adapter} ${q}`
  const customer: Lookup = async (q, signal) => {
    const params = { adapter, externalId: q }
    const { name, slug } = await call("GET /api/integration/:adapter/customer/:externalId", { params }, { signal })
    return found(t.nav.customers, "/customers")([{ id: slug, name, slug }], () => detail(q))
  }
  const instance: Lookup = async (q, signal) => {
    const params = { adapter, externalId: q }
    const { name, slug } = await call("GET /api/integration/:adapter/instance/:externalId", { params }, { signal })
    return found(t.nav.instances, "/instances")([{ id: slug, name, slug }], () => detail(q))
  }
  return [
    ...(allows(scopes, "read:customers") ? [customer] : []),
    ...(allows(scopes, "read:instances") ? [instance] : []),
  ]
}

/** Asks all at once. One that fails does not hide what the others found. */
const askAll = async (
  lookups: ReadonlyArray<Lookup>,
  q: string,
  signal: AbortSignal,
): Promise<ReadonlyArray<Found>> => {
  const answers = await Promise.allSettled(lookups.map((find) => find(q, signal)))
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
}

/** An id has no space in it and at least one digit. */
const ID = /^(?=.*\d)\S{2,}$/

/**
 * A search: from all sources that the caller may read, and the screens. If no record has the text, it may be an id: first one of the
 * vendor, then one of each connected system, five at a time until one is found.
 */
export const createSearch = (scopes: ReadonlyArray<string>) => {
  const lists = searchedLists.map((start) => start())
  const allowed = (some: ReadonlyArray<Source>) =>
    some.filter(({ scope }) => allows(scopes, scope)).map(({ find }) => find)
  return async (q: string, connectors: ReadonlyArray<string>, signal: AbortSignal): Promise<ReadonlyArray<Found>> => {
    const filtered = await askAll(allowed(sources), q, signal)
    if (signal.aborted) return filtered
    const named = [...filtered, ...(await askAll(allowed(lists), q, signal)), ...screensWith(q, scopes)]
    if (named.length > 0 || !ID.test(q)) return named
    const lookups = [
      ...(allows(scopes, "read:customers") ? [byOwnId] : []),
      ...connectors.flatMap((connector) => lookupsIn(connector, scopes)),
    ]
    for (let start = 0; start < lookups.length && !signal.aborted; start += MAX_REQUESTS) {
      const results = await askAll(lookups.slice(start, start + MAX_REQUESTS), q, signal)
      if (results.length > 0) return results
    }
    return []
  }
}
