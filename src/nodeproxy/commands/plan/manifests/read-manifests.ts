import { readFile } from 'node:fs/promises'
import { parseAllDocuments } from 'yaml'
import { NodeProxyError } from '../../../../lib/error.ts'
import { isJsonObject, type Json, type JsonObject, stringAt } from '../../../../lib/json.ts'
import { quote } from '../../../../lib/quote.ts'

/** An object of a file, with the name of the file for messages. */
export interface Manifest {
  readonly file: string
  readonly object: JsonObject
}

const MAX_ALIASES = 1_000

/** The objects of these YAML or JSON files, those of lists included; `-`: standard input. Throws NP_NODEPROXY_USAGE. */
export async function readManifests(files: readonly string[]): Promise<readonly Manifest[]> {
  const read: Manifest[] = []
  for (const file of files) {
    const text = await readFile(file === '-' ? '/dev/stdin' : file, 'utf8').catch(
      (error: unknown) => {
        const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
        throw wrongManifest(file, `cannot be read: ${code}`)
      },
    )
    read.push(...parseManifests(file, text))
  }
  return read
}

/** The objects of one text. */
export function parseManifests(file: string, text: string): readonly Manifest[] {
  return [...parseAllDocuments(text, { merge: true, logLevel: 'silent' })].flatMap((document) => {
    const [error] = document.errors
    if (error !== undefined) throw wrongManifest(file, `is not YAML: ${error.message}`)
    const value = document.toJS({ maxAliasCount: MAX_ALIASES }) as Json
    return value === null ? [] : itemsOf(file, value)
  })
}

/** NP_NODEPROXY_USAGE. */
export function wrongManifest(file: string, how: string): NodeProxyError {
  const [line = ''] = how.split('\n')
  return new NodeProxyError('NP_NODEPROXY_USAGE', `--filename ${quote(file)} ${line}`)
}

function itemsOf(file: string, value: Json): readonly Manifest[] {
  if (!isJsonObject(value)) throw wrongManifest(file, 'has a document that is no object')
  const { items } = value
  const isList = stringAt(value, 'kind').endsWith('List') && Array.isArray(items)
  if (isList) return items.flatMap((item) => itemsOf(file, item))
  return [{ file, object: value }]
}
