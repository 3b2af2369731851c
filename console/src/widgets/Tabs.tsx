/** Tabs. The chosen one stands in the URL, so the page sets it. */
import type { ReactNode } from "react"
import { Tab, TabList, TabPanel, Tabs as AriaTabs } from "react-aria-components"

export interface TabItem {
  readonly id: string
  readonly title: ReactNode
  readonly content: () => ReactNode
}

export const Tabs = ({
  items,
  label,
  onSelect,
  selected,
}: {
  readonly items: ReadonlyArray<TabItem>
  readonly label: string
  readonly selected: string
  readonly onSelect: (id: string) => void
}) => (
  <AriaTabs selectedKey={selected} onSelectionChange={(key) => onSelect(String(key))} className="tabs">
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
