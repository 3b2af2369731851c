/** `keyshelf export`: writes what an organization has as the file of `keyshelf apply`. */
import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { sections } from "../../../api/CatalogFile.ts"
import { Service } from "../connection/Service.ts"
import { asking } from "../connection/Target.ts"
import { common } from "../Flags.ts"
import { json } from "../Output.ts"
import { fileOf } from "./Catalog.ts"
import { formatCatalog } from "./CatalogText.ts"
import { readStored } from "./Reader.ts"

export const exportCommand = Command.make(
  "export",
  {
    ...common,
    section: Flag.Literals("section", sections).pipe(
      Flag.between(0, sections.length),
      Flag.map((chosen) => (chosen.length === 0 ? Option.none() : Option.some(chosen))),
      Flag.withDescription("Only this section; can be repeated; default all"),
    ),
  },
  Effect.fn(function* ({ json: isJson, profile, section }) {
    const print = Effect.gen(function* () {
      const { url } = yield* Service
      const file = fileOf(
        yield* readStored(sections.filter((name) => Option.getOrElse(section, () => sections).includes(name))),
      )
      yield* Console.log(isJson ? json(file) : (yield* formatCatalog(file, `${url}/openapi/catalog.json`)).trimEnd())
    })
    yield* asking({ profile, json: isJson }, print, "/api")
  }),
).pipe(
  Command.withDescription("Write the catalogue of the organization as YAML, without secrets. keyshelf apply reads it."),
  Command.withShortDescription("Write the catalogue of the organization as a file"),
  Command.withExamples([{ command: "keyshelf export > catalog.yaml" }]),
)
