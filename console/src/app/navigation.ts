/** The screens of both surfaces: where they are, what they are called, and the scope that they read with. */
import {
  Activity,
  ArrowRightLeft,
  Boxes,
  Braces,
  Building2,
  Flag,
  Group as GroupIcon,
  KeyRound,
  Layers,
  LayoutDashboard,
  ListChecks,
  Plug,
  Puzzle,
  Rocket,
  Server,
  Settings,
  Users,
  Webhook,
} from "lucide-react"
import type { LucideIcon } from "lucide-react"
import type { Scope } from "../kernel/Scopes.ts"
import { t } from "../kernel/texts.en.ts"

interface Entry {
  readonly to: string
  readonly title: string
  readonly icon: LucideIcon
  /** Without this scope there is no entry, and the page says which scope it needs. */
  readonly scope?: Scope
  /** The letter after `g`. */
  readonly letter?: string
  /** The guide that explains the screen; the one of the console if it has none of its own. */
  readonly guide?: string
}

interface Group {
  readonly title: string
  readonly entries: ReadonlyArray<Entry>
}

export const coreNavigation: ReadonlyArray<Group> = [
  {
    title: t.groups.main,
    entries: [
      { to: "/overview", title: t.nav.overview, icon: LayoutDashboard },
      {
        to: "/customers",
        title: t.nav.customers,
        icon: Building2,
        scope: "read:customers",
        letter: "c",
        guide: "concepts",
      },
      {
        to: "/instances",
        title: t.nav.instances,
        icon: Server,
        scope: "read:instances",
        letter: "i",
        guide: "concepts",
      },
    ],
  },
  {
    title: t.groups.catalogue,
    entries: [
      { to: "/licenses", title: t.nav.licenses, icon: Layers, scope: "read:licenses", letter: "l", guide: "concepts" },
      { to: "/license-migrations", title: t.nav.migrations, icon: ArrowRightLeft, scope: "read:licenses" },
      {
        to: "/entitlements",
        title: t.nav.entitlements,
        icon: ListChecks,
        scope: "read:entitlements",
        guide: "concepts",
      },
      { to: "/entitlement-groups", title: t.nav.entitlementGroups, icon: GroupIcon, scope: "read:entitlements" },
    ],
  },
  {
    title: t.groups.delivery,
    entries: [
      { to: "/zones", title: t.nav.zones, icon: Boxes, scope: "read:deployment_zones" },
      { to: "/releases", title: t.nav.releases, icon: Rocket, scope: "read:releases" },
      { to: "/components", title: t.nav.components, icon: Puzzle, scope: "read:components" },
      { to: "/flags", title: t.nav.flags, icon: Flag, scope: "read:feature_flags", guide: "feature-flags" },
    ],
  },
  {
    title: t.groups.activity,
    entries: [
      {
        to: "/events",
        title: t.nav.events,
        icon: Activity,
        scope: "read:organizations",
        letter: "e",
        guide: "events",
      },
      {
        to: "/webhooks",
        title: t.nav.webhooks,
        icon: Webhook,
        scope: "read:webhooks",
        letter: "w",
        guide: "webhooks",
      },
    ],
  },
  {
    title: t.groups.administration,
    entries: [
      {
        to: "/metadata-fields",
        title: t.nav.metadata,
        icon: Braces,
        scope: "read:metadata_fields",
        guide: "metadata-fields",
      },
      { to: "/connectors", title: t.nav.connectors, icon: Plug, scope: "read:organizations", guide: "connectors" },
      { to: "/service-accounts", title: t.nav.serviceAccounts, icon: KeyRound, scope: "read:tokens" },
      { to: "/members", title: t.nav.members, icon: Users, scope: "read:organizations", guide: "sign-in" },
      { to: "/settings", title: t.nav.settings, icon: Settings },
    ],
  },
]

export const platformNavigation: ReadonlyArray<Group> = [
  {
    title: t.groups.main,
    entries: [
      { to: "/organizations", title: t.nav.organizations, icon: Building2, scope: "read:organizations" },
      { to: "/users", title: t.nav.users, icon: Users, scope: "read:users" },
      { to: "/credentials", title: t.nav.credentials, icon: KeyRound, scope: "read:tokens" },
      { to: "/connectors", title: t.nav.registry, icon: Plug, scope: "read:organizations" },
      { to: "/health", title: t.nav.health, icon: Activity, guide: "observability" },
      { to: "/settings", title: t.nav.settings, icon: Settings },
    ],
  },
]

/** The address of the guide that explains the screen at a path. The service serves its own guides. */
export const guideAt = (path: string): string => {
  const entries = [...coreNavigation, ...platformNavigation].flatMap((group) => group.entries)
  const shown = entries.find(({ to }) => path === to || path.startsWith(`${to}/`))
  return `/docs/pages/${shown?.guide ?? "console"}`
}
