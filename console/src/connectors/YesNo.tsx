/** One of the three states of a connector. */
import { Tag } from "../widgets/Tag.tsx"
import { t } from "./texts.en.ts"

export const YesNo = ({ is }: { readonly is: boolean }) => <Tag tone={is ? "ok" : "muted"}>{is ? t.yes : t.no}</Tag>
