/** One organization, as the operator sees it: its members, its tokens, and the connectors of its license. */
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { Organization } from "../kernel/Contract.ts"
import { useRead } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { usePathName } from "../kernel/Url.ts"
import { Button } from "../widgets/Button.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { ListLink } from "../widgets/records/Links.tsx"
import { Read, ReadOnly } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Code, Moment } from "../widgets/Tag.tsx"
import { Connectors } from "./organization/Connectors.tsx"
import { Members } from "./organization/Members.tsx"
import { OpenAs } from "./organization/OpenAs.tsx"
import { Tokens } from "./organization/Tokens.tsx"
import { EditOrganization, RemoveOrganization } from "./OrganizationForms.tsx"
import { t } from "./texts.en.ts"

const Loaded = ({ organization }: { readonly organization: Organization }) => {
  const navigate = useNavigate()
  const mayWrite = useCan("write:organizations")
  const mayRemove = useCan("delete:organizations")
  const mayIssue = useCan("write:tokens")
  const [opened, setOpened] = useState<"open-as" | "edit" | "remove">()
  const close = () => setOpened(undefined)
  return (
    <>
      <PageHead
        title={organization.name}
        crumbs={<ListLink to="/organizations">{t.organizations}</ListLink>}
        actions={
          <>
            {mayIssue && <Button onPress={() => setOpened("open-as")}>{t.open}</Button>}
            {mayWrite && <Button onPress={() => setOpened("edit")}>{common.common.edit}</Button>}
            {mayRemove && <Button onPress={() => setOpened("remove")}>{common.common.remove}</Button>}
          </>
        }
      >
        <Code>{organization.slug}</Code>
        {organization.externalId !== null && (
          <span>
            {t.externalId} <Code>{organization.externalId}</Code>
          </span>
        )}
        <span>
          {common.common.created} <Moment at={organization.createdAt} relative />{" "}
          {common.common.by(organization.createdBy.name)}
        </span>
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <Tabs
        label={organization.name}
        items={[
          { id: "members", title: t.tabs.members, content: () => <Members organization={organization} /> },
          { id: "tokens", title: t.tabs.tokens, content: () => <Tokens organization={organization} /> },
          { id: "connectors", title: t.tabs.connectors, content: () => <Connectors organization={organization} /> },
        ]}
      />
      {opened === "open-as" && <OpenAs organization={organization} onClose={close} />}
      {opened === "edit" && <EditOrganization organization={organization} onClose={close} />}
      {opened === "remove" && (
        <RemoveOrganization
          organization={organization}
          onClose={close}
          onDone={() => void navigate({ to: "/organizations", search: { removed: organization.name } })}
        />
      )}
    </>
  )
}

export const Page = () => {
  const id = usePathName("id")
  const organization = useRead("GET /api/platform/organizations/:orgId", { params: { orgId: id } })
  return (
    <Read of={organization} title={id}>
      {(found) => <Loaded key={found.id} organization={found} />}
    </Read>
  )
}
