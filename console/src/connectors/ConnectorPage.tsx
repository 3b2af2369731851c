/** One connector: whether it is available, licensed and active, its settings, and a test of them. */
import { useState } from "react"
import type { ConnectorState } from "../kernel/Contract.ts"
import { formatMoment } from "../kernel/Formats.ts"
import { useRead, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { Facts, PageHead } from "../widgets/Page.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Failure, Read, ReadOnly } from "../widgets/States.tsx"
import { Settings } from "./Settings.tsx"
import { YesNo } from "./YesNo.tsx"
import { t } from "./texts.en.ts"

const STALE = { stale: ["/api/connectors"] }
const DEACTIVATE = "DELETE /api/connectors/:connectorName/activation"

const Deactivate = ({ name, onClose }: { readonly name: string; readonly onClose: () => void }) => (
  <ImpactDialog
    title={t.askDeactivate(name)}
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
  const activate = useWrite("PUT /api/connectors/:connectorName/activation", STALE)
  return (
    <>
      <PageHead
        title={name}
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
          [t.available, <YesNo key="available" is={available} />],
          [t.entitled, <YesNo key="entitled" is={entitled} />],
          [t.activated, <YesNo key="activated" is={activated} />],
          [t.activeSince, activatedAt === null ? null : formatMoment(activatedAt)],
          [t.version, version],
        ]}
      />
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
    <Read of={connector} title={name}>
      {(found) => <Loaded key={found.connectorName} connector={found} />}
    </Read>
  )
}
