/** The connectors that the installation has: built-in ones, and those that the operator registered. */
import { useState } from "react"
import { objectForBody } from "../kernel/Amount.ts"
import type { Item } from "../kernel/Contract.ts"
import { useRows, useWrite } from "../kernel/Queries.ts"
import { useCan } from "../kernel/Scopes.ts"
import { t as common } from "../kernel/texts.en.ts"
import { CreateButton } from "../widgets/Button.tsx"
import { DataTable } from "../widgets/DataTable.tsx"
import type { Column } from "../widgets/DataTable.tsx"
import { TextField } from "../widgets/forms/Fields.tsx"
import { ConfirmDialog, errorAt, FormDialog } from "../widgets/forms/Form.tsx"
import { PageHead } from "../widgets/Page.tsx"
import { RowAction } from "../widgets/records/RowAction.tsx"
import { Empty, ReadOnly } from "../widgets/States.tsx"
import { Moment } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

type Connector = Item<"GET /api/platform/connectors">

const STALE = { stale: ["/api/platform/connectors"] }
const START = '{\n  "type": "object",\n  "properties": {}\n}'

const Register = ({ onClose }: { readonly onClose: () => void }) => {
  const [name, setName] = useState("")
  const [version, setVersion] = useState("1")
  const [text, setText] = useState(START)
  const write = useWrite("POST /api/platform/connectors", { ...STALE, done: onClose })
  const schema = objectForBody(text)
  return (
    <FormDialog
      wide
      title={t.register}
      submit={t.register}
      fields={["name", "version", "settings_schema"]}
      isDisabled={schema === undefined}
      onClose={onClose}
      write={write}
      onSubmit={() => {
        if (schema !== undefined) write.mutate({ body: { name, version, settings_schema: schema } })
      }}
    >
      <TextField
        label={t.connectorName}
        hint={t.connectorNameHint}
        isRequired
        isCode
        autoFocus
        value={name}
        onChange={setName}
        error={errorAt(write.error, "name")}
      />
      <TextField
        label={t.version}
        isRequired
        value={version}
        onChange={setVersion}
        error={errorAt(write.error, "version")}
      />
      <TextField
        kind="lines"
        label={t.schema}
        hint={t.schemaHint}
        isCode
        value={text}
        onChange={setText}
        error={schema === undefined ? t.notJson : errorAt(write.error, "settings_schema")}
      />
    </FormDialog>
  )
}

const Remove = ({ connector, onClose }: { readonly connector: Connector; readonly onClose: () => void }) => {
  const write = useWrite("DELETE /api/platform/connectors/:connectorName", { ...STALE, done: onClose })
  return (
    <ConfirmDialog
      title={t.removeConnector(connector.name)}
      submit={common.common.remove}
      onClose={onClose}
      write={write}
      onConfirm={() => write.mutate({ params: { connectorName: connector.name } })}
    >
      <p>{t.removeConnectorText}</p>
    </ConfirmDialog>
  )
}

const columns: ReadonlyArray<Column<Connector>> = [
  { id: "name", title: common.common.name, width: "2.5fr", cell: ({ name }) => <code className="slug">{name}</code> },
  { id: "version", title: t.version, width: "1fr", cell: ({ version }) => version },
  {
    id: "registered",
    title: t.registered,
    width: "1.5fr",
    cell: ({ builtIn, createdAt, createdBy }) =>
      builtIn || createdAt === null ? (
        t.builtIn
      ) : (
        <>
          <Moment at={createdAt} />
          {createdBy !== null && <span className="sub">{common.common.by(createdBy.name)}</span>}
        </>
      ),
  },
]

export const Page = () => {
  const rows = useRows("GET /api/platform/connectors", {})
  const mayWrite = useCan("write:organizations")
  const [opened, setOpened] = useState<"register" | Connector>()
  const close = () => setOpened(undefined)
  const actions: Column<Connector> = {
    id: "actions",
    title: common.common.actions,
    width: "90px",
    isUntitled: true,
    cell: (connector) =>
      connector.builtIn ? null : (
        <RowAction title={common.common.remove} of={connector.name} onPress={() => setOpened(connector)} />
      ),
  }
  const register = mayWrite && <CreateButton onPress={() => setOpened("register")}>{t.register}</CreateButton>
  return (
    <>
      <PageHead title={t.registry} actions={register}>
        {t.registryHint}
      </PageHead>
      {!mayWrite && <ReadOnly />}
      <DataTable
        label={t.registry}
        unit="connector"
        columns={mayWrite ? [...columns, actions] : columns}
        rows={rows}
        rowKey={({ name }) => name}
        empty={<Empty title={t.noRegistry}>{t.noRegistryDetail}</Empty>}
      />
      {opened === "register" && <Register onClose={close} />}
      {opened !== undefined && opened !== "register" && <Remove connector={opened} onClose={close} />}
    </>
  )
}
