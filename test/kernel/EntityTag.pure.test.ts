import { assert, describe, it } from "@effect/vitest"
import { etagOf, matchesEtag } from "../../src/kernel/values/EntityTag.ts"

describe("an entity tag", () => {
  const etag = etagOf("body")
  const text = etag.replaceAll('"', "")

  it("is the same for the same body only", () => {
    assert.strictEqual(etag, etagOf("body"))
    assert.notStrictEqual(etag, etagOf("other"))
  })

  it("matches in every notation of `If-None-Match`, weak or strong, alone or in a list", () => {
    for (const sent of [etag, `W/${etag}`, `"x", ${etag}`, `"x",W/${etag} ,"y"`, `"a,b", ${etag}`, "*", " * ", text]) {
      assert.isTrue(matchesEtag(etag, sent), sent)
      assert.isTrue(matchesEtag(`W/${etag}`, sent), sent)
    }
  })

  it("matches with the mark of a proxy that compressed the response", () => {
    for (const mark of ["-gzip", "--gzip", ";gzip", "-br", "-deflate", "-zstd"]) {
      for (const sent of [`"${text}${mark}"`, `W/"${text}${mark}"`, `"x", "${text}${mark}"`, `"${text}"${mark}`]) {
        assert.isTrue(matchesEtag(etag, sent), sent)
      }
    }
    // A tag that ends like a mark itself.
    assert.isTrue(matchesEtag('"x-gzip"', '"x-gzip"'))
    assert.isTrue(matchesEtag('"x-gzip"', '"x-gzip-gzip"'))
  })

  it("does not match another one", () => {
    for (const sent of [
      undefined,
      "",
      ",",
      '"x"',
      '"*"',
      etagOf("other"),
      `"${text}-gzi"`,
      `"${text}-gzip-x"`,
      `"gzip-${text}"`,
      `"${text}x"`,
      `"x,${text},y"`,
      `"-gzip"`,
    ]) {
      assert.isFalse(matchesEtag(etag, sent), sent)
    }
    assert.isFalse(matchesEtag('"x-gzip"', '"x"'))
    assert.isFalse(matchesEtag('"x-gzip"', '"x-br"'))
  })
})
