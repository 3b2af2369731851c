/** What the URL contains: the record of the page, filters and tabs. */
import { useLocation, useNavigate, useParams, useSearch } from "@tanstack/react-router"
import { useCallback } from "react"

/** A part of the path, such as the slug of the record. */
export const usePathName = (name = "slug"): string => {
  const params: Readonly<Record<string, string | undefined>> = useParams({ strict: false })
  return params[name] ?? ""
}

/** The path of the screen, below the console. */
export const usePath = (): string => useLocation().pathname.replace(/^\/console(?=\/|$)/, "")

/** The path of the list that the record of the page is in. */
export const useListPath = (): string => {
  const path = usePath()
  return path.slice(0, path.lastIndexOf("/"))
}

type Texts = Readonly<Record<string, string | undefined>>

/** The query, and a function that changes some of it. Filters replace the entry in the history, so that Back leaves the page. */
export const useUrl = (): readonly [query: Texts, set: (change: Texts) => void] => {
  const query: Texts = useSearch({ strict: false })
  const navigate = useNavigate()
  const set = useCallback(
    (change: Texts) => {
      void navigate({
        to: ".",
        search: (before: Texts) => ({ ...before, ...change }),
        replace: true,
        resetScroll: false,
      })
    },
    [navigate],
  )
  return [query, set]
}
