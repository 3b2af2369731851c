/** Where events are sent, and whether they arrived. */
import { config } from "../kernel/Config.ts"
import { PageHead } from "../widgets/Page.tsx"
import { Empty } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Endpoints } from "./Endpoints.tsx"
import { History } from "./History.tsx"
import { t } from "./texts.en.ts"

export const Page = () => {
  return (
    <>
      <PageHead title={t.title} />
      {config().webhooks === null ? (
        <Empty title={t.elsewhere} />
      ) : (
        <Tabs
          label={t.title}
          items={[
            { id: "endpoints", title: t.endpoints, content: () => <Endpoints /> },
            { id: "history", title: t.history, content: () => <History /> },
          ]}
        />
      )}
    </>
  )
}
