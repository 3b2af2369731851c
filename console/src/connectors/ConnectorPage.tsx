/** One connector: whether it is available, licensed and active, its settings, and a test of them. */
import { useState } from "react"
import type { ConnectorState } from "../kernel/Contract.ts"
import { connectorTitle, formatMoment } from "../kernel/Formats.ts"
import { useRead, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { Facts, PageHead } from "../widgets/Page.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Failure, Read, ReadOnly } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { Settings, useSettings } from "./Settings.tsx"
import { YesNo } from "./YesNo.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/connectors"] }
const DEACTIVATE = "DELETE /api/connectors/:connectorName/activation"

const Deactivate = ({ name, onClose }: { readonly name: string; readonly onClose: () => void }) => (
  <ImpactDialog
    title={t.askDeactivate(connectorTitle(name))}
    submit={t.deactivate}
    operation={DEACTIVATE}
    request={{ params: { connectorName: name } }}
    {...STALE}
    onClose={onClose}
  />
)

const Loaded = ({ connector }: { readonly connector: ConnectorState }) => {
  const { activated, activatedAt, available, connectorName: name, entitled, version } = connector
  const mayWrite = useCan("write:organizations")
  const [isAsking, setAsking] = useState(false)
  // Without settings, an active connector calls nothing and its records fail.
  const isUnset = useSettings({ connectorName: name }).data === null
  const activate = useWrite("PUT /api/connectors/:connectorName/activation", STALE)
  return (
    <>
      <PageHead
        title={connectorTitle(name)}
        crumbs={<ListLink to="/connectors">{t.title}</ListLink>}
        actions={
          mayWrite &&
          (activated ? (
            <Button onPress={() => setAsking(true)}>{t.deactivate}</Button>
          ) : (
            available &&
            entitled && (
              <Button
                look="primary"
                isDisabled={isUnset}
                isPending={activate.isPending}
                onPress={() => activate.mutate({ params: { connectorName: name } })}
              >
                {t.activate}
              </Button>
            )
          ))
        }
      />
      {!mayWrite && <ReadOnly />}
      {activate.error !== null && <Failure error={activate.error} />}
      <Facts
        items={[
          [t.name, <Code key="name">{name}</Code>],
          [t.available, <YesNo key="available" is={available} />],
          [t.entitled, <YesNo key="entitled" is={entitled} />],
          [t.activated, <YesNo key="activated" is={activated} />],
          [t.activeSince, activatedAt === null ? null : formatMoment(activatedAt)],
          [t.version, version],
        ]}
      />
      {!activated && entitled && isUnset && <p className="read-only">{t.settingsFirst}</p>}
      {!entitled && <p className="read-only">{t.notLicensed}</p>}
      {available ? <Settings name={name} mayWrite={mayWrite} /> : <p className="read-only">{t.notAvailable}</p>}
      {isAsking && <Deactivate name={name} onClose={() => setAsking(false)} />}
    </>
  )
}

export const Page = () => {
  const name = usePathName()
  const connector = useRead("GET /api/connectors/:connectorName/state", { params: { connectorName: name } })
  return (
    <Read of={connector} title={connectorTitle(name)}>
      {(found) => <Loaded key={found.connectorName} connector={found} />}
    </Read>
  )
}
