/** Links to records. Features do not know each other, so the paths of all screens are here. */
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { Actor } from "../../kernel/Contract.ts"
import { words } from "../../kernel/Formats.ts"
import { useCan } from "../../kernel/Scopes.ts"
import type { Scope } from "../../kernel/Scopes.ts"
import { t } from "../../kernel/texts.en.ts"

const screens = {
  customer: ["/customers", "read:customers", t.nav.customers],
  instance: ["/instances", "read:instances", t.nav.instances],
  license: ["/licenses", "read:licenses", t.nav.licenses],
  entitlement: ["/entitlements", "read:entitlements", t.nav.entitlements],
  entitlementGroup: ["/entitlement-groups", "read:entitlements", t.nav.entitlementGroups],
  migration: ["/license-migrations", "read:licenses", t.nav.migrations],
  zone: ["/zones", "read:deployment_zones", t.nav.zones],
  metadataField: ["/metadata-fields", "read:metadata_fields", t.nav.metadata],
  connector: ["/connectors", "read:organizations", t.nav.connectors],
  release: ["/releases", "read:releases", t.nav.releases],
  component: ["/components", "read:components", t.nav.components],
  flag: ["/flags", "read:feature_flags", t.nav.flags],
  webhookEndpoint: ["/webhooks", "read:webhooks", t.nav.webhooks],
  serviceAccount: ["/service-accounts", "read:tokens", t.nav.serviceAccounts],
} as const satisfies Record<string, readonly [path: string, scope: Scope, list: string]>

export type RecordKind = keyof typeof screens

/** A link to a record's page, or only its name if the caller may not read it. */
export const RecordLink = ({
  children,
  kind,
  search,
  slug,
}: {
  readonly kind: RecordKind
  readonly slug: string
  readonly search?: Readonly<Record<string, string>>
  readonly children?: ReactNode
}) => {
  const [path, scope] = screens[kind]
  const text = children ?? slug
  if (!useCan(scope)) return <>{text}</>
  return (
    <Link to={`${path}/$slug`} params={{ slug }} search={search ?? {}}>
      {text}
    </Link>
  )
}

/** What a list of records is called, by its path. */
export const listTitle = (path: string): string =>
  Object.values(screens).find(([to]) => to === path)?.[2] ?? words(path.slice(1))

/** The one who did something, with a link to what is known about it. */
export const ActorLink = ({ actor }: { readonly actor: Actor }) => {
  const isAllowed = useCan("read:tokens")
  if (!isAllowed) return <>{actor.name}</>
  return (
    <Link to="/actors/$id" params={{ id: actor.id }} search={{}}>
      {actor.name}
    </Link>
  )
}

/** A link to a list, with filters. */
export const ListLink = ({
  children,
  className,
  search,
  to,
}: {
  readonly to: string
  readonly search?: Readonly<Record<string, string>>
  readonly className?: string
  readonly children: ReactNode
}) => (
  <Link to={to} search={search ?? {}} {...(className === undefined ? {} : { className })}>
    {children}
  </Link>
)

/** An address of another site, if it is one: what a third party wrote may be anything. */
export const WebLink = ({ url }: { readonly url: string }) => {
  const parsed = URL.parse(url)
  if (parsed === null || (parsed.protocol !== "https:" && parsed.protocol !== "http:")) return <>{url}</>
  return (
    <a href={parsed.href} target="_blank" rel="noreferrer noopener">
      {url}
    </a>
  )
}
