import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { arrayAt, isJsonObject, type Json, stringAt, stringsAt, valueAt } from '../../lib/json.ts'
import type { ApiResource } from './api-resource.ts'

export interface CacheOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** A name for the server, safe for a file. */
  readonly serverKey: string
}

const LIFE_MS = 5 * 60_000

/** The resources that were written in the last five minutes; undefined: there are none, or the file cannot be used. */
export async function readDiscoveryCache(
  options: CacheOptions,
  now: number,
): Promise<readonly ApiResource[] | undefined> {
  const path = cachePath(options)
  if (path === undefined) return undefined
  try {
    const document = JSON.parse(await readFile(path, 'utf8')) as Json
    const age = now - Number(valueAt(document, 'at'))
    if (!(age >= 0 && age < LIFE_MS)) return undefined
    const resources = arrayAt(document, 'resources').map(readResource)
    return resources.length === 0 ? undefined : resources
  } catch {
    return undefined
  }
}

/**
 * Keeps the resources for the next commands, readable by this user only. Does nothing if it cannot write the folder.
 */
export async function writeDiscoveryCache(
  options: CacheOptions,
  resources: readonly ApiResource[],
  now: number,
): Promise<void> {
  const path = cachePath(options)
  if (path === undefined) return
  const temporary = `${path}.${process.pid}`
  try {
    await mkdir(join(path, '..'), { recursive: true, mode: 0o700 })
    await writeFile(temporary, JSON.stringify({ at: now, resources }), { mode: 0o600 })
    await rename(temporary, path)
  } catch {
    await rm(temporary, { force: true }).catch(() => undefined)
  }
}

function cachePath({ env, serverKey }: CacheOptions): string | undefined {
  const home = env['HOME'] ?? ''
  const base = env['XDG_CACHE_HOME'] || (home === '' ? '' : join(home, '.cache'))
  return base === '' ? undefined : join(base, 'orchctl', 'discovery', `${serverKey}.json`)
}

/** Reads an entry field by field, because other programs may write the file. */
function readResource(entry: Json): ApiResource {
  const text = (field: string): string => stringAt(entry, field)
  return {
    group: text('group'),
    version: text('version'),
    kind: text('kind'),
    plural: text('plural'),
    singular: text('singular'),
    shortNames: stringsAt(entry, 'shortNames'),
    namespaced: valueAt(entry, 'namespaced') === true,
    verbs: stringsAt(entry, 'verbs'),
    categories: stringsAt(entry, 'categories'),
    subresources: arrayAt(entry, 'subresources')
      .filter(isJsonObject)
      .map((one) => ({
        name: stringAt(one, 'name'),
        kind: stringAt(one, 'kind'),
        verbs: stringsAt(one, 'verbs'),
      })),
  }
}
