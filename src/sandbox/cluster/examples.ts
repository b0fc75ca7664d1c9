import type { JsonObject } from '../../lib/json.ts'
import { readManifests } from '../../manifests/manifests.ts'

const FOLDER = new URL('../../../examples/services/', import.meta.url).pathname

/** All objects of the example manifests, in the order of their files. @throws NP_MANIFESTS_INVALID */
export async function readExamples(): Promise<readonly JsonObject[]> {
  const manifests = await readManifests({ filename: [FOLDER] })
  return manifests.map(({ object }) => object)
}
