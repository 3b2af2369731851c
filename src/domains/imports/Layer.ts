/** The layer of imports. */
import { Layer } from "effect"
import { ImportRows } from "./Rows.ts"
import { Imports } from "./Service.ts"

export const layer = Imports.layer.pipe(Layer.provideMerge(ImportRows.layer))
