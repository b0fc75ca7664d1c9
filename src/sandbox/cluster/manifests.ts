import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { NodeProxyError } from '../../lib/error.ts'
import { isJsonObject, type JsonObject, stringAt } from '../../lib/json.ts'

const FOLDER = new URL('../../../examples/services/', import.meta.url).pathname

/** All objects of the example manifests, in the order of their files. */
export function readManifests(folder: string = FOLDER): readonly JsonObject[] {
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'))
  return files
    .sort()
    .flatMap((name) => parseManifest(readFileSync(join(folder, name), 'utf8'), name))
}

/** The objects of one file. Throws NP_SANDBOX_MANIFEST naming the file and what is wrong. */
export function parseManifest(text: string, file: string): readonly JsonObject[] {
  return [...parseAllDocuments(text)].map((document) => {
    const [error] = document.errors
    if (error !== undefined) throw wrong(file, error.message)
    const value: unknown = document.toJS()
    if (!isJsonObject(value)) throw wrong(file, 'a document is no object')
    for (const path of [['apiVersion'], ['kind'], ['metadata', 'name']]) {
      if (stringAt(value, ...path) === '') throw wrong(file, `${path.join('.')} is missing`)
    }
    return value
  })
}

function wrong(file: string, how: string): NodeProxyError {
  return new NodeProxyError('NP_SANDBOX_MANIFEST', `${file}: ${how}`, { object: file })
}
