/** A button that opens a menu of further actions. */
import type { ReactNode } from "react"
import { Button, Menu as AriaMenu, MenuItem, MenuTrigger, Popover } from "react-aria-components"

interface Action {
  readonly id: string
  readonly title: string
  readonly run: () => void
  readonly isDangerous?: boolean
}

export const Menu = ({
  actions,
  children,
  label,
}: {
  readonly actions: ReadonlyArray<Action>
  readonly label: string
  readonly children: ReactNode
}) => (
  <MenuTrigger>
    <Button className="button icon" aria-label={label}>
      {children}
    </Button>
    <Popover className="popover" placement="bottom end">
      <AriaMenu className="menu" aria-label={label} onAction={(key) => actions.find(({ id }) => id === key)?.run()}>
        {actions.map(({ id, isDangerous = false, title }) => (
          <MenuItem key={id} id={id} className={isDangerous ? "menu-item dangerous" : "menu-item"}>
            {title}
          </MenuItem>
        ))}
      </AriaMenu>
    </Popover>
  </MenuTrigger>
)
