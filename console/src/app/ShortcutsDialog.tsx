/** The list of keys. */
import { t } from "../kernel/texts.en.ts"
import { Dialog } from "../widgets/Dialog.tsx"
import { destinations } from "./Shortcuts.ts"

const ShortcutsDialog = ({ onClose }: { readonly onClose: () => void }) => {
  const rows: ReadonlyArray<readonly [string, string]> = [
    ["Ctrl K", t.shortcuts.palette],
    ...[...destinations].map(([letter, { title }]) => [`g ${letter}`, title] as const),
    ["/", t.shortcuts.filter],
    ["j k", t.shortcuts.rows],
    ["?", t.shortcuts.help],
  ]
  return (
    <Dialog title={t.app.shortcuts} isOpen onClose={onClose}>
      <dl className="facts keys">
        {rows.map(([keys, meaning]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}

export default ShortcutsDialog
