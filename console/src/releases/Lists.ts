/** Components, releases and zones name each other by ids, which have no paths of their own. So all are read. */
import type { Component, Release } from "../kernel/Contract.ts"
import { useAllRows, useRows } from "../kernel/Queries.ts"
import type { Rows } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"

export const useComponents = (): Rows<Component> => {
  const isAllowed = useCan("read:components")
  return useAllRows(useRows("GET /api/components", {}, { when: isAllowed }), isAllowed)
}

export const useReleases = (): Rows<Release> => {
  const isAllowed = useCan("read:releases")
  return useAllRows(useRows("GET /api/releases", {}, { when: isAllowed }), isAllowed)
}

/** A component in a line. */
export const nameOf = ({ name, version }: Component): string => `${name} ${version}`

/** Whether one of the texts has what was typed into a filter. */
export const includes = (q: string, ...texts: ReadonlyArray<string>): boolean =>
  texts.some((text) => text.toLowerCase().includes(q.trim().toLowerCase()))
