/** One instance: what it may use, what it uses, and everything that support asks about it. */
import { useNavigate } from "@tanstack/react-router"
import { lazy, Suspense, useState } from "react"
import type { Instance } from "../kernel/Contract.ts"
import { formatBoundary, words } from "../kernel/Formats.ts"
import { useUpdate } from "../kernel/forms/Update.ts"
import { useRead } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { ImpactDialog } from "../widgets/records/ImpactDialog.tsx"
import { RecordLink } from "../widgets/records/Links.tsx"
import {
  activityTab,
  deleteAction,
  editAction,
  inMenu,
  integrationsTab,
  pageOf,
  RecordPage,
} from "../widgets/records/RecordPage.tsx"
import { t as records } from "../widgets/records/texts.en.ts"
import { Read } from "../widgets/States.tsx"
import { Code } from "../widgets/Tag.tsx"
import { CheckDialog } from "./CheckDialog.tsx"
import { EditInstance, updateOf } from "./InstanceForm.tsx"
import { KeysTab } from "./KeysTab.tsx"
import { IssueBundle, OfflineTab } from "./OfflineTab.tsx"
import { OverridesTab } from "./OverridesTab.tsx"
import { SeatsTab } from "./usage/SeatsTab.tsx"
import { TermState } from "./Term.tsx"
import { TranchesTab } from "./usage/TranchesTab.tsx"
import { useUsage } from "./usage/Usage.ts"
import { UsageTab } from "./usage/UsageTab.tsx"
import { t } from "./texts.en.ts"

const MetadataTab = lazy(() =>
  import("../widgets/records/MetadataTab.tsx").then((module) => ({ default: module.MetadataTab<Instance> })),
)
const AddOnsTab = lazy(() => import("./AddOnsTab.tsx").then((module) => ({ default: module.AddOnsTab })))

const ReleasesTab = lazy(() => import("./releases/ReleasesTab.tsx").then((module) => ({ default: module.ReleasesTab })))
const CreditsTab = lazy(() => import("./usage/CreditsTab.tsx").then((module) => ({ default: module.CreditsTab })))

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

/** The zone and the release that it runs, for readers who may see it. */
const ZoneFact = ({ name, slug }: { readonly slug: string; readonly name: string | null }) => {
  const params = { deploymentZoneSlug: slug }
  const mayRead = useCan("read:deployment_zones")
  const zone = useRead("GET /api/deployment-zones/:deploymentZoneSlug", { params }, { when: mayRead })
  const newest = useRead(
    "GET /api/deployment-zones/:deploymentZoneSlug/deployments",
    { params, query: { limit: "1" } },
    { when: mayRead },
  )
  // A zone that runs nothing has had deployments too.
  const deployment = newest.data?.items.find(({ releaseId }) => releaseId === zone.data?.releaseId)
  return (
    <>
      <RecordLink kind="zone" slug={slug}>
        {name}
      </RecordLink>
      {deployment !== undefined && `, ${t.release} ${deployment.releaseVersion}`}
    </>
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

const Loaded = ({ record: instance }: { readonly record: Instance }) => {
  const [why, setWhy] = useState<string>()
  const mayWrite = useCan("write:instances")
  const update = useUpdate("PATCH /api/instances/:instanceSlug", updateOf(instance))
  const usage = useUsage(instance.slug)
  const { endLicenseDate, slug, startLicenseDate } = instance
  const lines = usage.data?.lines ?? []
  const choices = lines.map(({ usage: { entitlementName, entitlementSlug } }) => ({
    id: entitlementSlug,
    title: entitlementName,
  }))
  const check = (entitlement: string, close: () => void) => (
    <CheckDialog
      instanceName={instance.name}
      instanceSlug={slug}
      entitlement={entitlement}
      choices={choices}
      onClose={close}
    />
  )
  return (
    <>
      <RecordPage
        title={instance.name}
        list={{ to: "/customers", title: t.customers }}
        crumbs={
          <span>
            <RecordLink kind="customer" slug={instance.customerSlug}>
              {instance.customerName}
            </RecordLink>
          </span>
        }
        isReadOnly={!mayWrite}
        actions={[
          { id: "check", title: t.check, isAllowed: true, dialog: (close) => check(choices[0]?.id ?? "", close) },
          {
            id: "bundle",
            title: t.issueBundle,
            isAllowed: useCan("write:licenses"),
            dialog: (close) => <IssueBundle instanceSlug={slug} onClose={close} />,
          },
          editAction(mayWrite, (close) => <EditInstance instance={instance} onClose={close} />),
          inMenu(deleteAction(mayWrite, (close) => <DeleteInstance instance={instance} onClose={close} />)),
        ]}
        facts={
          <>
            <Code>{slug}</Code>
            <LicenseFact slug={instance.licenseSlug} />
            <span>
              {formatBoundary(startLicenseDate)} -{" "}
              {endLicenseDate === null ? t.openEnded : formatBoundary(endLicenseDate)}
            </span>
            <TermState instance={instance} graceEndsAt={usage.data?.check?.graceEndsAt} />
            {instance.deploymentZoneSlug !== null && (
              <span>
                {t.zone.toLowerCase()}{" "}
                <ZoneFact slug={instance.deploymentZoneSlug} name={instance.deploymentZoneName} />
              </span>
            )}
          </>
        }
        tabs={[
          {
            id: "usage",
            title: t.tabs.usage,
            content: () => (
              <Read of={usage}>{(found) => <UsageTab instance={instance} lines={found.lines} onWhy={setWhy} />}</Read>
            ),
          },
          {
            id: "addOns",
            title: t.tabs.addOns,
            content: () => (
              <Suspense fallback={null}>
                <AddOnsTab instanceSlug={slug} />
              </Suspense>
            ),
          },
          {
            id: "credits",
            title: t.tabs.credits,
            content: () => (
              <Suspense fallback={null}>
                <CreditsTab instanceSlug={slug} />
              </Suspense>
            ),
          },
          {
            id: "overrides",
            title: t.tabs.overrides,
            content: () => (
              <OverridesTab
                instanceSlug={slug}
                licenseSlug={instance.licenseSlug}
                entitlements={choices.map(({ id }) => id)}
              />
            ),
          },
          { id: "seats", title: t.tabs.seats, content: () => <SeatsTab instanceSlug={slug} lines={lines} /> },
          { id: "keys", title: t.tabs.keys, content: () => <KeysTab instanceSlug={slug} /> },
          {
            id: "releases",
            title: t.tabs.releases,
            content: () => (
              <Suspense fallback={null}>
                <ReleasesTab instanceSlug={slug} />
              </Suspense>
            ),
          },
          { id: "offline", title: t.tabs.offline, content: () => <OfflineTab instanceSlug={slug} /> },
          { id: "tranches", title: t.tabs.tranches, content: () => <TranchesTab instanceSlug={slug} /> },
          {
            id: "metadata",
            title: records.metadata.title,
            content: () => (
              <Suspense fallback={null}>
                <MetadataTab resourceType="INSTANCE" record={instance} mayWrite={mayWrite} update={update} />
              </Suspense>
            ),
          },
          integrationsTab(instance),
          activityTab(instance),
        ]}
      />
      {why !== undefined && check(why, () => setWhy(undefined))}
    </>
  )
}

export const Page = pageOf("GET /api/instances/:instanceSlug", (instanceSlug) => ({ params: { instanceSlug } }), Loaded)
