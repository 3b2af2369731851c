/** One license version: what it grants, the versions beside it, who holds it. Changes are asked with their dry run. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { License } from "../kernel/Contract.ts"
import { words } from "../kernel/Formats.ts"
import { useRead } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName, useUrl } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { EventList } from "../widgets/records/EventList.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Read, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code, Tag } from "../widgets/Tag.tsx"
import { DeleteLicense, TransitionLicense } from "./LicenseDialogs.tsx"
import type { Transition } from "./LicenseDialogs.tsx"
import { LicenseState } from "./LicenseState.tsx"
import { Grants, Holders, Versions } from "./LicenseTabs.tsx"
import { t } from "./texts.en.ts"

const transitions: Readonly<Record<License["lifecycleState"], Transition>> = {
  DRAFT: "publish",
  PUBLISHED: "archive",
  ARCHIVED: "unarchive",
}

const Loaded = ({ license }: { readonly license: License }) => {
  const [{ tab = "grants" }, setUrl] = useUrl()
  const navigate = useNavigate()
  const [opened, setOpened] = useState<Transition | "delete">()
  const mayWrite = useCan("write:licenses")
  const close = () => setOpened(undefined)
  const transition = transitions[license.lifecycleState]
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
              <Button onPress={() => setOpened("delete")}>{common.common.remove}</Button>
            </>
          ) : undefined
        }
      >
        <Code>{license.slug}</Code>
        <span>{words(license.type)}</span>
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
        selected={tab}
        onSelect={(id) => setUrl({ tab: id })}
        items={[
          { id: "grants", title: t.tabs.grants, content: () => <Grants slug={license.slug} /> },
          { id: "versions", title: t.tabs.versions, content: () => <Versions license={license} /> },
          { id: "instances", title: t.tabs.instances, content: () => <Holders slug={license.slug} /> },
          {
            id: "activity",
            title: t.tabs.activity,
            content: () => <EventList label={t.tabs.activity} filters={{ resource: license.id }} />,
          },
        ]}
      />
      {opened === "delete" && (
        <DeleteLicense license={license} onClose={close} onDone={() => void navigate({ to: "/licenses" })} />
      )}
      {opened !== undefined && opened !== "delete" && (
        <TransitionLicense license={license} transition={opened} onClose={close} />
      )}
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
