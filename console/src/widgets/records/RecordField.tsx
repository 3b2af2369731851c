/** Fields for other records: by the slug, which can be typed too, with what matches offered while typing; or by the id. */
import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { call } from "../../kernel/Api.ts"
import { useAllRows, useQuiet, useRows } from "../../kernel/Queries.ts"
import { useCan } from "../../kernel/Scopes.ts"
import type { Scope } from "../../kernel/Scopes.ts"
import { PickField, SuggestField } from "../forms/Pick.tsx"

const LIMIT = "20"

interface Found {
  readonly slug: string
  readonly name: string
}

interface Source {
  readonly path: string
  readonly scope: Scope
  readonly find: (q: string, signal: AbortSignal) => Promise<ReadonlyArray<Found>>
}

const sources = {
  customer: {
    path: "/api/customers",
    scope: "read:customers",
    find: async (q, signal) => (await call("GET /api/customers", { query: { q, limit: LIMIT } }, { signal })).items,
  },
  instance: {
    path: "/api/instances",
    scope: "read:instances",
    find: async (q, signal) => (await call("GET /api/instances", { query: { q, limit: LIMIT } }, { signal })).items,
  },
  license: {
    path: "/api/licenses",
    scope: "read:licenses",
    find: async (q, signal) =>
      (await call("GET /api/licenses", { query: { q, limit: LIMIT } }, { signal })).items.map(
        ({ name, slug, version }) => ({ slug, name: `${name} v${version}` }),
      ),
  },
  entitlement: {
    path: "/api/entitlements",
    scope: "read:entitlements",
    find: async (q, signal) => (await call("GET /api/entitlements", { query: { q, limit: LIMIT } }, { signal })).items,
  },
  entitlementGroup: {
    path: "/api/entitlement-groups",
    scope: "read:entitlements",
    // The list has no filter by name.
    find: async (q, signal) =>
      (await call("GET /api/entitlement-groups", { query: { limit: "200" } }, { signal })).items.filter(
        ({ name, slug }) => slug.startsWith(q) || name.toLowerCase().includes(q.toLowerCase()),
      ),
  },
} as const satisfies Record<string, Source>

interface Props {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
  readonly isRequired?: boolean
  readonly autoFocus?: boolean
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A record by its slug. */
export const RecordField = ({
  kind,
  ...field
}: Props & {
  readonly kind: keyof typeof sources
  /** A record was chosen from the list. */
  readonly onChoose?: (slug: string) => void
}) => {
  const { find, path, scope } = sources[kind]
  const text = field.value.trim()
  const q = useQuiet(text)
  const isAllowed = useCan(scope)
  const found = useQuery<ReadonlyArray<Found>>({
    queryKey: [path, "offered", q],
    queryFn: ({ signal }) => find(q, signal),
    enabled: isAllowed,
    placeholderData: (before) => before,
  })
  const choices = found.data?.map(({ name, slug }) => ({ id: slug, title: name, detail: slug })) ?? []
  const isSearching = isAllowed && (q !== text || found.isFetching)
  // The field holds the slug; the name of the record is below it.
  const chosen = choices.find(({ id }) => id === text)
  return (
    <SuggestField
      {...field}
      {...(chosen === undefined ? {} : { hint: chosen.title })}
      isCode
      choices={choices}
      isSearching={isSearching}
    />
  )
}

/** A zone by its id, which has no path of its own: all zones are read. */
export const ZoneField = (field: Props) => {
  const zones = useAllRows(useRows("GET /api/deployment-zones", {}))
  const choices = zones.rows?.map(({ id, name, slug }) => ({ id, title: name, detail: slug })) ?? []
  return <PickField {...field} choices={choices} />
}
