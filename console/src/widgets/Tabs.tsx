/** The tabs of a page. The URL names the selected one; by default it is the first. */
import type { ReactNode } from "react"
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from "react-aria-components"
import { useUrl } from "../kernel/Url.ts"

export interface TabItem {
  readonly id: string
  readonly title: ReactNode
  readonly content: () => ReactNode
}

export const Tabs = ({ items, label }: { readonly items: ReadonlyArray<TabItem>; readonly label: string }) => {
  const [{ tab: selected = items[0]?.id ?? "" }, setUrl] = useUrl()
  return (
    <AriaTabs selectedKey={selected} onSelectionChange={(key) => setUrl({ tab: String(key) })} className="tabs">
      <TabList aria-label={label} className="tab-list">
        {items.map(({ id, title }) => (
          <Tab key={id} id={id} className="tab">
            {title}
          </Tab>
        ))}
      </TabList>
      {items.map(({ content, id }) => (
        <TabPanel key={id} id={id} className="tab-panel">
          {id === selected ? content() : null}
        </TabPanel>
      ))}
    </AriaTabs>
  )
}
