/** Ctrl-K: the field for the search. It is part of the first page, so that no key is lost; what finds records loads with the first search. */
import { useNavigate } from "@tanstack/react-router"
import { useEffect, useMemo, useState } from "react"
import { useRead } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { useSession } from "../kernel/Session.ts"
import { t } from "../kernel/texts.en.ts"
import { Palette } from "../widgets/Palette.tsx"
import type { createSearch, Found } from "./SearchSources.ts"

const QUIET_MS = 200

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

interface Search {
  readonly q: string
  readonly found: ReadonlyArray<Found>
}

/** A search whose code loads with its first use. What one opened field has read serves all its searches. */
const startSearch = (scopes: ReadonlyArray<string>): ReturnType<typeof createSearch> => {
  let started: ReturnType<typeof createSearch> | undefined
  return async (q, connectors, signal) => {
    started ??= (await import("./SearchSources.ts")).createSearch(scopes)
    return started(q, connectors, signal)
  }
}

/** What was found for a text, a moment after the last key. */
const useSearch = (q: string): Search | undefined => {
  const { scopes } = useSession()
  const connectors = useConnectors()
  const [state, setState] = useState<Search>()
  const search = useMemo(() => startSearch(scopes), [scopes])
  useEffect(() => {
    if (q === "" || connectors === undefined) return undefined
    const aborted = new AbortController()
    const find = async () => {
      const found = await search(q, connectors, aborted.signal)
      if (!aborted.signal.aborted) setState({ q, found })
    }
    const timer = setTimeout(() => void find().catch(() => undefined), QUIET_MS)
    return () => {
      clearTimeout(timer)
      aborted.abort()
    }
  }, [connectors, q, search])
  return state?.q === q ? state : undefined
}

const NONE: ReadonlyArray<Found> = []

export const SearchPalette = ({ onClose }: { readonly onClose: () => void }) => {
  const navigate = useNavigate()
  const [text, setText] = useState("")
  const q = text.trim()
  const search = useSearch(q)
  const found = search?.found ?? NONE
  const results = useMemo(
    () => found.map((one) => ({ ...one, open: () => void navigate({ href: `/console${one.to}` }) })),
    [found, navigate],
  )
  return (
    <Palette
      label={t.app.searchAll}
      onClose={onClose}
      text={text}
      onText={setText}
      results={results}
      note={q === "" ? t.app.searchHint : search === undefined ? t.app.searching : t.app.searchNone(q)}
    />
  )
}
