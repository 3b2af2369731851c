/** Ctrl-K: finds records by their names, slugs and ids of other systems, with at most five requests at a time. */
import { useNavigate } from "@tanstack/react-router"
import { useEffect, useState } from "react"
import { call } from "../kernel/Api.ts"
import { allows } from "../kernel/Scopes.ts"
import type { Scope } from "../kernel/Scopes.ts"
import { useSession } from "../kernel/Session.ts"
import { t } from "../kernel/texts.en.ts"
import { Palette } from "../widgets/Palette.tsx"
import type { Result } from "../widgets/Palette.tsx"

const QUIET_MS = 200
// Each source asks one thing at a time: five requests.
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

const customers: Source = {
  scope: "read:customers",
  find: async (q, signal) => {
    const asFound = found(t.nav.customers, "/customers")
    const { items } = await call("GET /api/customers", { query: { q, limit: LIMIT } }, { signal })
    if (items.length > 0) return asFound(items)
    // Nothing is called that: it may be the customer's id in another system.
    const byId = await call("GET /api/customers", { query: { externalCustomerId: q, limit: LIMIT } }, { signal })
    return asFound(byId.items, ({ externalCustomerId, slug }) => `${externalCustomerId} - ${slug}`)
  },
}

const sources: ReadonlyArray<Source> = [
  {
    scope: "read:instances",
    find: async (q, signal) =>
      found(t.nav.instances, "/instances")(
        (await call("GET /api/instances", { query: { q, limit: LIMIT } }, { signal })).items,
        ({ customerSlug, slug }) => `${slug} - ${customerSlug}`,
      ),
  },
  customers,
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

/** Reads from all sources that the caller may read. A source that fails does not hide what the others found. */
const findAll = async (
  q: string,
  scopes: ReadonlyArray<string>,
  signal: AbortSignal,
): Promise<ReadonlyArray<Found>> => {
  const answers = await Promise.allSettled(
    sources.filter(({ scope }) => allows(scopes, scope)).map(({ find }) => find(q, signal)),
  )
  return answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []))
}

const SearchPalette = ({ onClose }: { readonly onClose: () => void }) => {
  const { scopes } = useSession()
  const navigate = useNavigate()
  const [text, setText] = useState("")
  const [state, setState] = useState<{ readonly q: string; readonly results: ReadonlyArray<Found> }>()
  const q = text.trim()
  useEffect(() => {
    if (q === "") return undefined
    const aborted = new AbortController()
    const timer = setTimeout(() => {
      findAll(q, scopes, aborted.signal).then(
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
  }, [q, scopes])
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
