/** One license version: what it grants, the versions beside it, who holds it. Changes are asked with their dry run. */
import { useNavigate } from "@tanstack/react-router"
import type { License } from "../kernel/Contract.ts"
import { formatSeconds } from "../kernel/Formats.ts"
import { useCan } from "../kernel/Scopes.ts"
import { ListLink } from "../widgets/records/Links.tsx"
import { activityTab, deleteAction, editAction, inMenu, pageOf, RecordPage } from "../widgets/records/RecordPage.tsx"
import { Code, Tag } from "../widgets/Tag.tsx"
import { Versions } from "./Comparison.tsx"
import { Grants } from "./Grants.tsx"
import { DefaultLicense, DeleteLicense, TransitionLicense } from "./LicenseDialogs.tsx"
import type { Transition } from "./LicenseDialogs.tsx"
import { CreateLicense, EditLicense } from "./LicenseForm.tsx"
import { LicenseState } from "./LicenseState.tsx"
import { Holders } from "./LicenseTabs.tsx"
import { MigrateLicense } from "./MigrateForm.tsx"
import { t } from "./texts.en.ts"

const transitions: Readonly<Record<License["lifecycleState"], Transition>> = {
  DRAFT: "publish",
  PUBLISHED: "archive",
  ARCHIVED: "unarchive",
}

const Loaded = ({ record: license }: { readonly record: License }) => {
  const navigate = useNavigate()
  const mayWrite = useCan("write:licenses")
  const openLicense = (slug: string) => void navigate({ to: "/licenses/$slug", params: { slug } })
  const openMigration = (slug: string) => void navigate({ to: "/license-migrations/$slug", params: { slug } })
  return (
    <RecordPage
      title={`${license.name} v${license.version}`}
      list={{ to: "/licenses", title: t.title }}
      crumbs={
        <span>
          <ListLink to="/licenses" search={{ family: license.familySlug }}>
            {license.familySlug}
          </ListLink>
        </span>
      }
      isReadOnly={!mayWrite}
      actions={[
        // The dialog keeps its question even if someone else changes the version in the meantime.
        ...Object.values(transitions).map((one) => ({
          id: one,
          title: t[one],
          isAllowed: mayWrite && one === transitions[license.lifecycleState],
          dialog: (close: () => void) => <TransitionLicense license={license} transition={one} onClose={close} />,
        })),
        {
          id: "version",
          title: t.newVersion,
          isAllowed: mayWrite,
          dialog: (close) => <CreateLicense like={license} onClose={close} onCreated={openLicense} />,
        },
        {
          id: "migrate",
          title: t.migrate.action,
          isAllowed: mayWrite,
          dialog: (close) => <MigrateLicense license={license} onClose={close} onStarted={openMigration} />,
        },
        editAction(mayWrite, (close) => <EditLicense license={license} onClose={close} />),
        inMenu({
          id: "default",
          title: license.isDefault ? t.removeDefault : t.makeDefault,
          // Only a published version can be the default.
          isAllowed: mayWrite && (license.isDefault || license.lifecycleState === "PUBLISHED"),
          dialog: (close) => <DefaultLicense license={license} onClose={close} />,
        }),
        inMenu(
          deleteAction(mayWrite, (close) => (
            <DeleteLicense license={license} onClose={close} onDone={() => void navigate({ to: "/licenses" })} />
          )),
        ),
      ]}
      facts={
        <>
          <Code>{license.slug}</Code>
          <span>{t.types[license.type]}</span>
          <LicenseState state={license.lifecycleState} />
          {license.isDefault && <Tag tone="ok">{t.isDefault}</Tag>}
          {license.graceDays > 0 && (
            <span>
              {t.grace}: {license.graceDays}
            </span>
          )}
          <span>{t.away.fact(formatSeconds(license.away.staleSeconds), t.away.answers[license.away.then])}</span>
        </>
      }
      tabs={[
        {
          id: "grants",
          title: t.tabs.grants,
          content: () => <Grants slug={license.slug} isAddOn={license.type === "ADD_ON"} />,
        },
        { id: "versions", title: t.tabs.versions, content: () => <Versions license={license} /> },
        { id: "instances", title: t.tabs.instances, content: () => <Holders slug={license.slug} /> },
        activityTab(license),
      ]}
    />
  )
}

export const Page = pageOf("GET /api/licenses/:licenseSlug", (licenseSlug) => ({ params: { licenseSlug } }), Loaded)
