/** One organization, as the operator sees it: its members, its tokens, and the connectors of its license. */
import { useNavigate } from "@tanstack/react-router"
import type { Organization } from "../kernel/Contract.ts"
import { useCan } from "../kernel/Scopes.ts"
import { Creation, deleteAction, editAction, pageOf, RecordPage } from "../widgets/records/RecordPage.tsx"
import { Code } from "../widgets/Tag.tsx"
import { Connectors } from "./organization/Connectors.tsx"
import { Members } from "./organization/Members.tsx"
import { OpenAs } from "./organization/OpenAs.tsx"
import { Tokens } from "./organization/Tokens.tsx"
import { EditOrganization, RemoveOrganization } from "./OrganizationForms.tsx"
import { t } from "./texts.en.ts"

const Loaded = ({ record: organization }: { readonly record: Organization }) => {
  const navigate = useNavigate()
  const mayWrite = useCan("write:organizations")
  const left = () => void navigate({ to: "/organizations", search: { removed: organization.name } })
  return (
    <RecordPage
      title={organization.name}
      list={{ to: "/organizations", title: t.organizations }}
      isReadOnly={!mayWrite}
      actions={[
        {
          id: "open-as",
          title: t.open,
          isAllowed: useCan("write:tokens"),
          dialog: (close) => <OpenAs organization={organization} onClose={close} />,
        },
        editAction(mayWrite, (close) => <EditOrganization organization={organization} onClose={close} />),
        deleteAction(useCan("delete:organizations"), (close) => (
          <RemoveOrganization organization={organization} onClose={close} onDone={left} />
        )),
      ]}
      facts={
        <>
          <Code>{organization.slug}</Code>
          {organization.externalId !== null && (
            <span>
              {t.externalId} <Code>{organization.externalId}</Code>
            </span>
          )}
          <Creation record={organization} relative />
        </>
      }
      tabs={[
        { id: "members", title: t.tabs.members, content: () => <Members organization={organization} /> },
        { id: "tokens", title: t.tabs.tokens, content: () => <Tokens organization={organization} /> },
        { id: "connectors", title: t.tabs.connectors, content: () => <Connectors organization={organization} /> },
      ]}
    />
  )
}

export const Page = pageOf("GET /api/platform/organizations/:orgId", (orgId) => ({ params: { orgId } }), Loaded, "id")
