/** Ctrl-K: finds records by their names, slugs and ids of other systems, with at most five requests at a time. */
import { useNavigate } from "@tanstack/react-router"
import { useEffect, useMemo, useState } from "react"
import { call } from "../kernel/Api.ts"
import { useRead } from "../kernel/Queries.ts"
import { allows, useCan } from "../kernel/Scopes.ts"
import type { Scope } from "../kernel/Scopes.ts"
import { useSession } from "../kernel/Session.ts"
import { t } from "../kernel/texts.en.ts"
import { Palette } from "../widgets/Palette.tsx"
import type { Result } from "../widgets/Palette.tsx"

const QUIET_MS = 200
const MAX_REQUESTS = 5
const LIMIT = "6"

interface Found {
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

const sources: ReadonlyArray<Source> = [
  {
    scope: "read:instances",
    find: async (q, signal) =>
      found(t.nav.instances, "/instances")(
        (await call("GET /api/instances", { query: { q, limit: LIMIT } }, { signal })).items,
        ({ customerSlug, slug }) => `${slug} - ${customerSlug}`,
      ),
  },
  {
    scope: "read:customers",
    find: async (q, signal) =>
      found(
        t.nav.customers,
        "/customers",
      )((await call("GET /api/customers", { query: { q, limit: LIMIT } }, { signal })).items),
  },
  {
    scope: "read:licenses",
    find: async (q, signal) =>
      found(
        t.nav.licenses,
        "/licenses",
      )((await call("GET /api/licenses", { query: { q, limit: LIMIT } }, { signal })).items),
  },
  {
    scope: "read:entitlements",
    find: async (q, signal) =>
      found(
        t.nav.entitlements,
        "/entitlements",
      )((await call("GET /api/entitlements", { query: { q, limit: LIMIT } }, { signal })).items),
  },
  {
    scope: "read:deployment_zones",
    find: async (q, signal) =>
      found(
        t.nav.zones,
        "/zones",
      )((await call("GET /api/deployment-zones", { query: { q, limit: LIMIT } }, { signal })).items),
  },
]

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
 * Reads from all sources that the caller may read. If no name begins with the text, it may be an id: first one of the vendor, then
 * one of each connected system, five at a time until one is found.
 */
const findAll = async (
  q: string,
  scopes: ReadonlyArray<string>,
  connectors: ReadonlyArray<string>,
  signal: AbortSignal,
): Promise<ReadonlyArray<Found>> => {
  const byName = sources.filter(({ scope }) => allows(scopes, scope)).map(({ find }) => find)
  const named = await askAll(byName, q, signal)
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

/** The connectors of the installation, those in use first. Their records stay when a connector is deactivated. */
const useConnectors = (): ReadonlyArray<string> | undefined => {
  const mayRead = useCan("read:organizations")
  const { data, error } = useRead("GET /api/connectors", { query: { limit: "200" } }, { when: mayRead })
  return useMemo(() => {
    if (!mayRead || error !== null) return []
    return data?.items
      .toSorted((one, other) => Number(other.activated) - Number(one.activated))
      .map(({ connectorName }) => connectorName)
  }, [data, error, mayRead])
}

const SearchPalette = ({ onClose }: { readonly onClose: () => void }) => {
  const { scopes } = useSession()
  const connectors = useConnectors()
  const navigate = useNavigate()
  const [text, setText] = useState("")
  const [state, setState] = useState<{ readonly q: string; readonly results: ReadonlyArray<Found> }>()
  const q = text.trim()
  useEffect(() => {
    if (q === "" || connectors === undefined) return undefined
    const aborted = new AbortController()
    const timer = setTimeout(() => {
      findAll(q, scopes, connectors, aborted.signal).then(
        (results) => {
          if (!aborted.signal.aborted) setState({ q, results })
        },
        () => undefined,
      )
    }, QUIET_MS)
    return () => {
      clearTimeout(timer)
      aborted.abort()
    }
  }, [connectors, q, scopes])
  const current = q !== "" && state?.q === q ? state.results : []
  const [results, setResults] = useState<ReadonlyArray<Result>>([])
  useEffect(() => {
    setResults(current.map((one) => ({ ...one, open: () => void navigate({ href: `/console${one.to}` }) })))
    // The list is rebuilt when its content changes, not when the page is drawn again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [state, q])
  return (
    <Palette
      label={t.app.searchAll}
      placeholder={t.app.searchAll}
      isOpen
      onClose={onClose}
      text={text}
      onText={setText}
      results={results}
      note={q === "" ? t.app.searchHint : state?.q === q ? t.app.searchNone : t.app.searching}
    />
  )
}

export default SearchPalette
