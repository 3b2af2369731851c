/** One instance: what it may use, what it uses, and everything that support asks about it. */
import { useNavigate } from "@tanstack/react-router"
import { Ellipsis } from "lucide-react"
import { useState } from "react"
import type { Instance } from "../kernel/Contract.ts"
import { formatBoundary, words } from "../kernel/Formats.ts"
import { useUpdate } from "../kernel/forms/Update.ts"
import { useRead } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { Menu } from "../widgets/Menu.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { EventList } from "../widgets/records/EventList.tsx"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { Integrations } from "../widgets/records/Integrations.tsx"
import { ListLink, RecordLink } from "../widgets/records/Links.tsx"
import { MetadataTab } from "../widgets/records/MetadataTab.tsx"
import { t as records } from "../widgets/records/texts.en.ts"
import { Read, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code } from "../widgets/Tag.tsx"
import { CheckDialog } from "./CheckDialog.tsx"
import { EditInstance, updateOf } from "./InstanceForm.tsx"
import { KeysTab } from "./KeysTab.tsx"
import { IssueBundle, OfflineTab } from "./OfflineTab.tsx"
import { OverridesTab } from "./OverridesTab.tsx"
import { SeatsTab } from "./SeatsTab.tsx"
import { TermState } from "./Term.tsx"
import { useUsage } from "./Usage.ts"
import { UsageTab } from "./UsageTab.tsx"
import { t } from "./texts.en.ts"

const DeleteInstance = ({ instance, onClose }: { readonly instance: Instance; readonly onClose: () => void }) => {
  const navigate = useNavigate()
  return (
    <ImpactDialog
      title={t.remove(instance.name)}
      submit={common.common.remove}
      operation="DELETE /api/instances/:instanceSlug"
      request={{ params: { instanceSlug: instance.slug } }}
      leavesPage
      stale={["/api/instances"]}
      done={() => void navigate({ to: "/instances" })}
      onClose={onClose}
    />
  )
}

const ALL = { query: { limit: "200" } }

/** The zone and its release, for readers who may see them. Instances name the zone by its id, which has no path of its own. */
const ZoneFact = ({ zoneId }: { readonly zoneId: string }) => {
  const zones = useRead("GET /api/deployment-zones", ALL, { when: useCan("read:deployment_zones") })
  const releases = useRead("GET /api/releases", ALL, { when: useCan("read:releases") })
  const zone = zones.data?.items.find(({ id }) => id === zoneId)
  if (zone === undefined) return null
  const release = releases.data?.items.find(({ id }) => id === zone.releaseId)
  return (
    <span>
      {t.zone.toLowerCase()} <RecordLink kind="zone" slug={zone.slug} />
      {release !== undefined && `, ${t.release} ${release.version}`}
    </span>
  )
}

const LicenseFact = ({ slug }: { readonly slug: string }) => {
  const mayRead = useCan("read:licenses")
  const license = useRead("GET /api/licenses/:licenseSlug", { params: { licenseSlug: slug } }, { when: mayRead })
  return (
    <span>
      <RecordLink kind="license" slug={slug}>
        {license.data === undefined ? slug : `${license.data.name} v${license.data.version}`}
      </RecordLink>
      {license.data !== undefined && ` ${words(license.data.type)}`}
    </span>
  )
}

type Opened = "edit" | "delete" | "bundle" | { readonly why: string }

const Loaded = ({ instance }: { readonly instance: Instance }) => {
  const [opened, setOpened] = useState<Opened>()
  const mayWrite = useCan("write:instances")
  const mayIssue = useCan("write:licenses")
  const update = useUpdate("PATCH /api/instances/:instanceSlug", updateOf(instance))
  const usage = useUsage(instance.slug)
  const close = () => setOpened(undefined)
  const { slug } = instance
  const lines = usage.data?.lines ?? []
  const choices = lines.map(({ usage: { entitlementName, entitlementSlug } }) => ({
    id: entitlementSlug,
    title: entitlementName,
  }))
  const { endLicenseDate, startLicenseDate } = instance
  return (
    <>
      <PageHead
        title={instance.name}
        crumbs={
          <>
            <ListLink to="/customers">{t.customers}</ListLink>
            <span>
              <RecordLink kind="customer" slug={instance.customerSlug} />
            </span>
          </>
        }
        actions={
          <>
            <Button onPress={() => setOpened({ why: choices[0]?.id ?? "" })}>{t.check}</Button>
            {mayIssue && <Button onPress={() => setOpened("bundle")}>{t.issueBundle}</Button>}
            {mayWrite && (
              <>
                <Button onPress={() => setOpened("edit")}>{common.common.edit}</Button>
                <Menu
                  label={common.common.moreActions}
                  actions={[
                    { id: "delete", title: common.common.remove, isDangerous: true, run: () => setOpened("delete") },
                  ]}
                >
                  <Ellipsis aria-hidden size={16} />
                </Menu>
              </>
            )}
          </>
        }
      >
        <Code>{slug}</Code>
        <LicenseFact slug={instance.licenseSlug} />
        <span>
          {formatBoundary(startLicenseDate)} - {endLicenseDate === null ? t.openEnded : formatBoundary(endLicenseDate)}
        </span>
        <TermState instance={instance} graceEndsAt={usage.data?.check?.graceEndsAt} />
        {instance.deploymentZoneId !== null && <ZoneFact zoneId={instance.deploymentZoneId} />}
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <Tabs
        label={instance.name}
        items={[
          {
            id: "usage",
            title: t.tabs.usage,
            content: () => (
              <Read of={usage}>
                {(found) => <UsageTab instanceSlug={slug} lines={found.lines} onWhy={(why) => setOpened({ why })} />}
              </Read>
            ),
          },
          {
            id: "overrides",
            title: t.tabs.overrides,
            content: () => <OverridesTab instanceSlug={slug} entitlements={choices.map(({ id }) => id)} />,
          },
          { id: "seats", title: t.tabs.seats, content: () => <SeatsTab instanceSlug={slug} lines={lines} /> },
          { id: "keys", title: t.tabs.keys, content: () => <KeysTab instanceSlug={slug} /> },
          { id: "offline", title: t.tabs.offline, content: () => <OfflineTab instanceSlug={slug} /> },
          {
            id: "metadata",
            title: records.metadata.title,
            content: () => (
              <MetadataTab resourceType="INSTANCE" record={instance} mayWrite={mayWrite} update={update} />
            ),
          },
          {
            id: "integrations",
            title: records.integrations.title,
            content: () => <Integrations records={instance.integrations} />,
          },
          {
            id: "activity",
            title: t.tabs.activity,
            content: () => <EventList label={t.tabs.activity} filters={{ resource: instance.id }} />,
          },
        ]}
      />
      {opened === "edit" && <EditInstance instance={instance} onClose={close} />}
      {opened === "delete" && <DeleteInstance instance={instance} onClose={close} />}
      {opened === "bundle" && <IssueBundle instanceSlug={slug} onClose={close} />}
      {typeof opened === "object" && (
        <CheckDialog instanceSlug={slug} entitlement={opened.why} choices={choices} onClose={close} />
      )}
    </>
  )
}

export const Page = () => {
  const slug = usePathName()
  const instance = useRead("GET /api/instances/:instanceSlug", { params: { instanceSlug: slug } })
  return (
    <Read of={instance} title={slug}>
      {(found) => <Loaded key={found.id} instance={found} />}
    </Read>
  )
}
