/** One license version: what it grants, the versions beside it, who holds it. Changes are asked with their dry run. */
import { useNavigate } from "@tanstack/react-router"
import { Ellipsis } from "lucide-react"
import { useState } from "react"
import type { License } from "../kernel/Contract.ts"
import { useRead } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { Menu } from "../widgets/Menu.tsx"
import type { Action } from "../widgets/Menu.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Read, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code, Tag } from "../widgets/Tag.tsx"
import { Versions } from "./Comparison.tsx"
import { Grants } from "./Grants.tsx"
import { DefaultLicense, DeleteLicense, TransitionLicense } from "./LicenseDialogs.tsx"
import type { Transition } from "./LicenseDialogs.tsx"
import { CreateLicense, EditLicense } from "./LicenseForm.tsx"
import { LicenseState } from "./LicenseState.tsx"
import { Activity, Holders } from "./LicenseTabs.tsx"
import { MigrateLicense } from "./MigrateForm.tsx"
import { t } from "./texts.en.ts"

const transitions: Readonly<Record<License["lifecycleState"], Transition>> = {
  DRAFT: "publish",
  PUBLISHED: "archive",
  ARCHIVED: "unarchive",
}

type Opened = Transition | "delete" | "default" | "edit" | "version" | "migrate"

const isTransition = (opened: Opened | undefined): opened is Transition =>
  opened === "publish" || opened === "archive" || opened === "unarchive"

const Loaded = ({ license }: { readonly license: License }) => {
  const navigate = useNavigate()
  const [opened, setOpened] = useState<Opened>()
  const mayWrite = useCan("write:licenses")
  const close = () => setOpened(undefined)
  const openLicense = (slug: string) => void navigate({ to: "/licenses/$slug", params: { slug } })
  const transition = transitions[license.lifecycleState]
  const more: ReadonlyArray<Action> = [
    // Only a published version can be the default.
    ...(license.isDefault || license.lifecycleState === "PUBLISHED"
      ? [
          {
            id: "default",
            title: license.isDefault ? t.removeDefault : t.makeDefault,
            run: () => setOpened("default"),
          },
        ]
      : []),
    { id: "delete", title: common.common.remove, isDangerous: true, run: () => setOpened("delete") },
  ]
  return (
    <>
      <PageHead
        title={`${license.name} v${license.version}`}
        crumbs={
          <>
            <ListLink to="/licenses">{t.title}</ListLink>
            <span>
              <ListLink to="/licenses" search={{ family: license.familySlug }}>
                {license.familySlug}
              </ListLink>
            </span>
          </>
        }
        actions={
          mayWrite ? (
            <>
              <Button onPress={() => setOpened(transition)}>{t[transition]}</Button>
              <Button onPress={() => setOpened("version")}>{t.newVersion}</Button>
              <Button onPress={() => setOpened("migrate")}>{t.migrate.action}</Button>
              <Button onPress={() => setOpened("edit")}>{common.common.edit}</Button>
              <Menu label={common.common.moreActions} actions={more}>
                <Ellipsis aria-hidden size={16} />
              </Menu>
            </>
          ) : undefined
        }
      >
        <Code>{license.slug}</Code>
        <span>{t.types[license.type]}</span>
        <LicenseState state={license.lifecycleState} />
        {license.isDefault && <Tag tone="ok">{t.isDefault}</Tag>}
        {license.graceDays > 0 && (
          <span>
            {t.grace}: {license.graceDays}
          </span>
        )}
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <Tabs
        label={license.name}
        items={[
          { id: "grants", title: t.tabs.grants, content: () => <Grants slug={license.slug} /> },
          { id: "versions", title: t.tabs.versions, content: () => <Versions license={license} /> },
          { id: "instances", title: t.tabs.instances, content: () => <Holders slug={license.slug} /> },
          { id: "activity", title: t.tabs.activity, content: () => <Activity license={license} /> },
        ]}
      />
      {opened === "delete" && (
        <DeleteLicense license={license} onClose={close} onDone={() => void navigate({ to: "/licenses" })} />
      )}
      {opened === "default" && <DefaultLicense license={license} onClose={close} />}
      {opened === "edit" && <EditLicense license={license} onClose={close} />}
      {opened === "version" && <CreateLicense like={license} onClose={close} onCreated={openLicense} />}
      {opened === "migrate" && (
        <MigrateLicense
          license={license}
          onClose={close}
          onStarted={(slug) => void navigate({ to: "/license-migrations/$slug", params: { slug } })}
        />
      )}
      {isTransition(opened) && <TransitionLicense license={license} transition={opened} onClose={close} />}
    </>
  )
}

export const Page = () => {
  const slug = usePathName()
  const license = useRead("GET /api/licenses/:licenseSlug", { params: { licenseSlug: slug } })
  return (
    <Read of={license} title={slug}>
      {(found) => <Loaded key={found.id} license={found} />}
    </Read>
  )
}
