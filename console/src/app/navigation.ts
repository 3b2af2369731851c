/** The screens of both surfaces: where they are, what they are called, and the scope that they read with. */
import { Activity, Building2, Server } from "lucide-react"
import type { LucideIcon } from "lucide-react"
import type { Scope } from "../kernel/Scopes.ts"
import { t } from "../kernel/texts.en.ts"

export interface Entry {
  readonly to: string
  readonly title: string
  readonly icon: LucideIcon
  /** Without this scope there is no entry, and the page says which scope it needs. */
  readonly scope?: Scope
  /** The letter after `g`. */
  readonly letter?: string
}

export interface Group {
  readonly title: string
  readonly entries: ReadonlyArray<Entry>
}

export const coreNavigation: ReadonlyArray<Group> = [
  {
    title: t.groups.main,
    entries: [
      { to: "/customers", title: t.nav.customers, icon: Building2, scope: "read:customers", letter: "c" },
      { to: "/instances", title: t.nav.instances, icon: Server, scope: "read:instances", letter: "i" },
    ],
  },
  {
    title: t.groups.activity,
    entries: [{ to: "/events", title: t.nav.events, icon: Activity, scope: "read:organizations", letter: "e" }],
  },
]

export const platformNavigation: ReadonlyArray<Group> = []
