/** Where events are sent, and whether they arrived. */
import { config } from "../kernel/Config.ts"
import { useUrl } from "../kernel/Url.ts"
import { PageHead } from "../widgets/Page.tsx"
import { Empty } from "../widgets/States.tsx"
import { Tabs } from "../widgets/Tabs.tsx"
import { Endpoints } from "./Endpoints.tsx"
import { History } from "./History.tsx"
import { t } from "./texts.en.ts"

export const Page = () => {
  const [{ tab = "endpoints" }, setUrl] = useUrl()
  return (
    <>
      <PageHead title={t.title} />
      {config().webhooks === null ? (
        <Empty title={t.elsewhere} />
      ) : (
        <Tabs
          label={t.title}
          selected={tab}
          onSelect={(id) => setUrl({ tab: id })}
          items={[
            { id: "endpoints", title: t.endpoints, content: () => <Endpoints /> },
            { id: "history", title: t.history, content: () => <History /> },
          ]}
        />
      )}
    </>
  )
}
