/** Whether a flag is on. */
import { Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

export const FlagState = ({ isOn }: { readonly isOn: boolean }) => (
  <Tag tone={isOn ? "ok" : "muted"}>{isOn ? t.on : t.off}</Tag>
)
