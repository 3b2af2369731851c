/** The routes of both surfaces. Each screen is a chunk of its own, loaded when it is opened or pointed at. */
import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from "@tanstack/react-router"
import type { AnyRoute } from "@tanstack/react-router"
import type { ConsoleConfig } from "../kernel/Config.ts"
import type { Scope } from "../kernel/Scopes.ts"
import { t } from "../kernel/texts.en.ts"
import { Empty, Failure, Loading } from "../widgets/States.tsx"
import { coreNavigation, guideAt, platformNavigation } from "./navigation.ts"
import { Shell } from "./Shell.tsx"

declare module "@tanstack/react-router" {
  interface StaticDataRouteOption {
    readonly scope?: Scope
    /** The address of the guide that explains the screen. */
    readonly guide?: string
  }
}

const root = createRootRoute({
  component: Shell,
  notFoundComponent: () => <Empty title={t.states.notFound}>{t.states.notFoundDetail}</Empty>,
})

/** Each screen's module exports its page under this name. */
interface ScreenModule {
  readonly Page: () => React.ReactNode
}

/** Everything in the query is text; filters and tabs are read from it. */
const textsOf = (search: Record<string, unknown>): Readonly<Record<string, string | undefined>> =>
  Object.fromEntries(
    Object.entries(search).map(([name, value]) => [name, typeof value === "string" ? value : undefined]),
  )

const screen = (path: string, load: () => Promise<ScreenModule>, scope?: Scope): AnyRoute =>
  createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: textsOf,
    component: lazyRouteComponent(load, "Page"),
    pendingComponent: () => <Loading />,
    errorComponent: ({ error, reset }) => <Failure error={error} retry={reset} />,
    staticData: { guide: guideAt(path), ...(scope === undefined ? {} : { scope }) },
  })

const coreScreens: ReadonlyArray<AnyRoute> = [
  screen("/overview", () => import("../overview/OverviewPage.tsx")),
  screen("/customers", () => import("../customers/CustomersPage.tsx"), "read:customers"),
  screen("/customers/$slug", () => import("../customers/CustomerPage.tsx"), "read:customers"),
  screen("/instances", () => import("../instances/InstancesPage.tsx"), "read:instances"),
  screen("/instances/$slug", () => import("../instances/InstancePage.tsx"), "read:instances"),
  screen("/licenses", () => import("../licenses/LicensesPage.tsx"), "read:licenses"),
  screen("/licenses/$slug", () => import("../licenses/LicensePage.tsx"), "read:licenses"),
  screen("/license-migrations", () => import("../migrations/MigrationsPage.tsx"), "read:licenses"),
  screen("/license-migrations/$slug", () => import("../migrations/MigrationPage.tsx"), "read:licenses"),
  screen("/entitlements", () => import("../entitlements/EntitlementsPage.tsx"), "read:entitlements"),
  screen("/entitlements/$slug", () => import("../entitlements/EntitlementPage.tsx"), "read:entitlements"),
  screen("/entitlement-groups", () => import("../groups/GroupsPage.tsx"), "read:entitlements"),
  screen("/entitlement-groups/$slug", () => import("../groups/GroupPage.tsx"), "read:entitlements"),
  screen("/zones", () => import("../zones/ZonesPage.tsx"), "read:deployment_zones"),
  screen("/zones/$slug", () => import("../zones/ZonePage.tsx"), "read:deployment_zones"),
  screen("/metadata-fields", () => import("../metadata/FieldsPage.tsx"), "read:metadata_fields"),
  screen("/metadata-fields/$slug", () => import("../metadata/FieldPage.tsx"), "read:metadata_fields"),
  screen("/connectors", () => import("../connectors/ConnectorsPage.tsx"), "read:organizations"),
  screen("/connectors/$slug", () => import("../connectors/ConnectorPage.tsx"), "read:organizations"),
  screen("/releases", () => import("../releases/ReleasesPage.tsx"), "read:releases"),
  screen("/releases/$slug", () => import("../releases/ReleasePage.tsx"), "read:releases"),
  screen("/components", () => import("../releases/ComponentsPage.tsx"), "read:components"),
  screen("/components/$slug", () => import("../releases/ComponentPage.tsx"), "read:components"),
  screen("/flags", () => import("../flags/FlagsPage.tsx"), "read:feature_flags"),
  screen("/flags/$slug", () => import("../flags/FlagPage.tsx"), "read:feature_flags"),
  screen("/events", () => import("../events/EventsPage.tsx"), "read:organizations"),
  screen("/webhooks", () => import("../webhooks/WebhooksPage.tsx"), "read:webhooks"),
  screen("/webhooks/$slug", () => import("../webhooks/EndpointPage.tsx"), "read:webhooks"),
  screen("/service-accounts", () => import("../access/AccountsPage.tsx"), "read:tokens"),
  screen("/service-accounts/$slug", () => import("../access/AccountPage.tsx"), "read:tokens"),
  screen("/actors/$id", () => import("../access/ActorPage.tsx"), "read:tokens"),
  screen("/settings", () => import("../settings/SettingsPage.tsx")),
  screen("/members", () => import("../members/MembersPage.tsx"), "read:organizations"),
]

const platformScreens: ReadonlyArray<AnyRoute> = [
  screen("/organizations", () => import("../operator/OrganizationsPage.tsx"), "read:organizations"),
  screen("/organizations/$id", () => import("../operator/OrganizationPage.tsx"), "read:organizations"),
  screen("/users", () => import("../operator/UsersPage.tsx"), "read:users"),
  screen("/credentials", () => import("../operator/CredentialsPage.tsx"), "read:tokens"),
  screen("/connectors", () => import("../operator/ConnectorsPage.tsx"), "read:organizations"),
  screen("/settings", () => import("../settings/SettingsPage.tsx")),
  screen("/health", () => import("../operator/HealthPage.tsx")),
]

/** Filters are plain text in the URL, not JSON. */
const parseSearch = (text: string) => Object.fromEntries(new URLSearchParams(text))
const stringifySearch = (search: Record<string, unknown>) => {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(search)) {
    if (typeof value === "string" && value !== "") query.set(name, value)
  }
  return query.size === 0 ? "" : `?${query}`
}

/** The router of a surface. */
export const createRoutes = (surface: ConsoleConfig["surface"]) => {
  const isPlatform = surface === "platform"
  const first = (isPlatform ? platformNavigation : coreNavigation)[0]?.entries[0]?.to ?? "/"
  const index = createRoute({
    getParentRoute: () => root,
    path: "/",
    beforeLoad: () => {
      throw redirect({ to: first })
    },
  })
  return createRouter({
    routeTree: root.addChildren([index, ...(isPlatform ? platformScreens : coreScreens)]),
    basepath: "/console",
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    defaultPendingMs: 150,
    scrollRestoration: true,
  })
}
