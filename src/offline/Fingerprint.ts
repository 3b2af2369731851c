/** Fingerprints of the components of a machine, to which a bundle can be bound. */
import { hashOf } from "./values/Bytes.ts"
import { isText } from "./values/Unknown.ts"

/**
 * The fingerprint of a component, such as `mac:8c:2e:3f:1a:4b:77`, for an instance. The component cannot be read from
 * it, and another instance has another one. Never rejects: it is `""`, which matches nothing, if an argument is not a string.
 */
export const fingerprintOf = (instanceId: string, component: string): Promise<string> =>
  isText(instanceId) && isText(component)
    ? hashOf(`keyshelf-binding\n${instanceId}\n${component}`).catch(() => "")
    : Promise.resolve("")
