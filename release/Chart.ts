/** What runs the image on Kubernetes and with Compose. It contains files of ours alone, and names images by digest. */
import { gzip, tar } from "./Archives.ts"
import type { Entry } from "./Archives.ts"
import { fileAt, folderAt, readText, textAt, under } from "./Files.ts"
import type { Source } from "./Git.ts"
import { imageDigest } from "./Image.ts"
import type { Artifact } from "./Server.ts"
import { places, replaced } from "./Version.ts"

/** Replaces what a file of the checkout has in place of something that only a build knows. */
const filledIn = (file: string, text: string, pattern: RegExp, value: string): string => {
  if (!pattern.test(text)) throw new Error(`${file} has nothing that ${pattern} matches`)
  return text.replace(pattern, () => value)
}

const CHART = "deploy/chart"

/** What the chart of a build has instead of the files of the checkout. */
const chartTexts = (source: Source): ReadonlyArray<Entry> => {
  const described = places
    .filter(({ file }) => file === `${CHART}/Chart.yaml`)
    .reduce((text, place) => replaced(text, place, source.version), readText(`${CHART}/Chart.yaml`))
  const values = `${CHART}/values.yaml`
  const digest = filledIn(values, readText(values), /(?<=^ {2}digest: )""$/m, imageDigest(source))
  return [textAt("Chart.yaml", described), textAt("values.yaml", digest)]
}

/** The chart for Helm, with the digest of the image of this build. */
export const chart = (source: Source): Artifact => {
  const texts = chartTexts(source)
  const filled = new Set(texts.map(({ path }) => path))
  const files = folderAt(CHART, "keyshelf", (path) => !filled.has(path))
  return {
    kind: "chart",
    file: `keyshelf-chart-${source.version}.tgz`,
    content: gzip(tar([...files, ...under("keyshelf", [...texts, fileAt("LICENSE")])], source.time)),
    components: [],
  }
}

const COMPOSE = "deploy/compose.yaml"

const TAG = /(?<=^ {2}image: \$\{KEYSHELF_IMAGE:[^}]*\}):\S+$/m

/** The files for Compose, with the digest of the image of this build. */
export const compose = (source: Source): Artifact => {
  const image = filledIn(COMPOSE, readText(COMPOSE), TAG, `@${imageDigest(source)}`)
  const files = [
    textAt("compose.yaml", image),
    ...["compose-upstreams.conf", "nginx/keyshelf.conf", ".env.example"].map((name) => fileAt(`deploy/${name}`, name)),
    fileAt("LICENSE"),
  ]
  const folder = `keyshelf-compose-${source.version}`
  return {
    kind: "compose",
    file: `${folder}.tar.gz`,
    content: gzip(tar(under(folder, files), source.time)),
    components: [],
  }
}
