/** Reads and writes the text of a catalogue: YAML, which includes JSON. Errors name line and column. */
import { Effect, Exit, Schema } from "effect"
import type { Document, LineCounter, Scalar } from "yaml"
import { CatalogFile } from "../../../api/CatalogFile.ts"
import { locatedIssues } from "../../../kernel/contract/DecodingErrors.ts"
import { isAmount, parseJson } from "../../../kernel/values/Decimal.ts"
import { CommandFailed } from "../../Failure.ts"
import type { Place } from "./Plan.ts"

/** A file, and where its values are. */
export interface CatalogText {
  readonly file: CatalogFile
  /** `catalog.yaml:12:5`: where a value is, or the nearest one around it. */
  readonly at: (place: Place) => string
}

// Loaded only for catalogues.
const yaml = Effect.promise(() => import("yaml"))
const tags = Effect.promise(() => import("./Tags.ts"))

/** Errors of the parser that name its own functions and options. */
const REMEDIES: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS:
    "A second document begins here, but a catalogue is a single document. Remove the `---` and join the sections, or apply a file for each.",
  NON_STRING_KEY: "A key must be a text without a tag.",
}

const MAX_SHOWN = 20
const NUMBER = /^-?\d+(\.\d+)?$/

/** The value of a scalar. Grants keep all digits of their numbers. */
const exactly = ({ source = "", value }: Scalar): unknown =>
  typeof value === "number" && source.length > 15 && NUMBER.test(source) ? parseJson(source) : value

const nodeAt = (document: Document.Parsed, place: Place): unknown => document.getIn(place, true)

const positionOf = (document: Document.Parsed, lines: LineCounter, place: Place): string => {
  for (let length = place.length; length >= 0; length--) {
    const node = nodeAt(document, place.slice(0, length))
    if (typeof node !== "object" || node === null || !("range" in node) || !Array.isArray(node.range)) continue
    const { col, line } = lines.linePos(Number(node.range[0]))
    return `${line}:${col}`
  }
  return "1:1"
}

const textOf = (place: Place): string =>
  place.reduce<string>((text, key) => {
    if (typeof key === "number") return `${text}[${key}]`
    return text === "" ? key : `${text}.${key}`
  }, "")

const failed = (name: string, errors: ReadonlyArray<string>) => {
  const more = errors.length > MAX_SHOWN ? [`... and ${errors.length - MAX_SHOWN} more`] : []
  return new CommandFailed({
    message: [`${name} is not a catalogue.`, ...errors.slice(0, MAX_SHOWN), ...more].join("\n"),
  })
}

const decode = Schema.decodeUnknownExit(CatalogFile, { errors: "all", onExcessProperty: "error" })

/** Reads a file. `name` is that of the file in errors. */
export const parseCatalog = Effect.fn("Catalog.parse")(function* (text: string, name: string) {
  const { isMap, isScalar, LineCounter, parseDocument, visit } = yield* yaml
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    uniqueKeys: true,
    stringKeys: true,
    merge: true,
    // Types beyond JSON, such as `!!binary` and `!!set`, are not values of a catalogue.
    resolveKnownTags: false,
  })
  const errorAt = (offset: number, text: string): string => {
    const { col, line } = lines.linePos(offset)
    return `${name}:${line}:${col}: ${text}`
  }
  if (document.errors.length > 0) {
    return yield* failed(
      name,
      document.errors.map(({ code, message, pos }) =>
        errorAt(pos[0], REMEDIES[code] ?? `${message}. Correct the YAML.`),
      ),
    )
  }
  const { wrongTagsIn } = yield* tags
  const wrong = wrongTagsIn(document)
  if (wrong.length > 0) {
    return yield* failed(
      name,
      wrong.map(({ offset, tag }) => errorAt(offset, `The tag ${tag} is not evaluated. Write the value itself.`)),
    )
  }
  visit(document, {
    Map: (_key, map) => {
      const value = map.has("entitlementSlug") ? map.get("value", true) : undefined
      if (isScalar(value)) value.value = exactly(value)
    },
  })
  const at = (place: Place) => `${name}:${positionOf(document, lines, place)}`
  if (!isMap(document.contents)) {
    return yield* failed(name, [`${at([])}: The file must be a mapping of sections, such as \`entitlements:\`.`])
  }
  const input: unknown = yield* Effect.try({
    try: () => document.toJS({ maxAliasCount: 100 }),
    catch: (error) => failed(name, [`${at([])}: ${error instanceof Error ? error.message : String(error)}`]),
  })
  const decoded = decode(input)
  if (Exit.isSuccess(decoded)) return { file: decoded.value, at } satisfies CatalogText
  const issues = decoded.cause.reasons.flatMap((reason) => {
    const error = "error" in reason ? reason.error : undefined
    return Schema.isSchemaError(error) ? locatedIssues(error.issue) : []
  })
  return yield* failed(
    name,
    issues.map(({ message, path }) => {
      const place = path as Place
      return `${at(place)}: ${textOf(place)}: ${message}`
    }),
  )
})

/** Writes a file for people: a line for editors, sections apart from each other. */
export const formatCatalog = Effect.fn("Catalog.format")(function* (file: object, schemaUrl: string) {
  const { Document, isMap, isScalar } = yield* yaml
  const document = new Document(file, {
    // A number of a grant with many digits is a JSON text of its own.
    customTags: (tags) => [
      {
        tag: "tag:yaml.org,2002:float",
        default: true,
        identify: (value: unknown) => typeof value === "object" && isAmount(value),
        resolve: (text: string) => parseJson(text),
        stringify: ({ value }) => JSON.stringify(value),
      },
      ...tags,
    ],
    aliasDuplicateObjects: false,
  })
  document.commentBefore = ` yaml-language-server: $schema=${schemaUrl}`
  if (isMap(document.contents)) {
    for (const [index, { key }] of document.contents.items.entries()) {
      if (index > 0 && isScalar(key)) key.spaceBefore = true
    }
  }
  return document.toString({ lineWidth: 120 })
})
