/** Help: the guide of the screen, the version and the state of the service, and the list of keys. */
import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import { config, readConfig } from "../kernel/Config.ts"
import { t } from "../kernel/texts.en.ts"
import { usePath } from "../kernel/Url.ts"
import { Dialog } from "../widgets/Dialog.tsx"
import { Facts } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Tag } from "../widgets/Tag.tsx"
import { guideAt } from "./navigation.ts"
import { destinations } from "./Shortcuts.ts"

/** A page of the documentation, which the service serves. In another tab, so that what is open here stays. */
const Page = ({ children, to }: { readonly to: string; readonly children: ReactNode }) => (
  <a href={to} target="_blank" rel="noreferrer">
    {children}
  </a>
)

/** Asks the service now, and says how long its answer took. */
const useService = () =>
  useQuery({
    queryKey: ["service"],
    queryFn: async () => {
      const start = performance.now()
      const { version } = await readConfig()
      return { version, ms: Math.round(performance.now() - start) }
    },
    staleTime: 0,
    gcTime: 0,
    retry: false,
  })

const State = () => {
  const { data, error, isFetching } = useService()
  if (isFetching) return <Tag tone="waiting">{t.help.asking}</Tag>
  if (error !== null || data === undefined) return <Tag tone="danger">{t.help.away}</Tag>
  return (
    <>
      <Tag tone="ok">{t.help.answers(data.ms)}</Tag>
      {data.version !== config().version && <p>{t.help.replaced(data.version)}</p>}
    </>
  )
}

const Service = () => (
  <>
    <h3>{t.help.service}</h3>
    <Facts
      items={[
        [
          t.help.version,
          <span key="version" className="inline">
            {config().version}
            <Page to="/docs/pages/changelog">{t.help.news}</Page>
          </span>,
        ],
        [
          t.help.state,
          <span key="state" role="status">
            <State />
          </span>,
        ],
      ]}
    />
    {config().surface === "platform" && (
      <p>
        <ListLink to="/health">{t.help.parts}</ListLink>
      </p>
    )}
  </>
)

const Keys = () => {
  const rows: ReadonlyArray<readonly [string, string]> = [
    ["Ctrl K", t.shortcuts.palette],
    ...[...destinations].map(([letter, { title }]) => [`g ${letter}`, title] as const),
    ["/", t.shortcuts.filter],
    ["j k", t.shortcuts.rows],
    ["?", t.shortcuts.help],
  ]
  return (
    <>
      <h3>{t.app.shortcuts}</h3>
      <dl className="facts keys">
        {rows.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </>
  )
}

const HelpDialog = ({ onClose }: { readonly onClose: () => void }) => {
  const path = usePath()
  return (
    <Dialog title={t.app.help} isOpen onClose={onClose}>
      <div className="help-list">
        <Page to={guideAt(path)}>{t.help.screen}</Page>
        <Page to="/docs/pages">{t.help.guides}</Page>
        <Page to="/docs">{t.help.reference}</Page>
        <Service />
        <Keys />
      </div>
    </Dialog>
  )
}

export default HelpDialog
