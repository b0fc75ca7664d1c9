import { access } from 'node:fs/promises'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import type { Document } from 'yaml'
import {
  kubeconfigValue,
  readKubeconfigDocument,
} from '../../client/connection/kubeconfig-document.ts'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  ownValue,
  stringAt,
} from '../../lib/json.ts'

/** The three lists of a kubeconfig, and the field that holds the content of their entries. */
export const LISTS = { clusters: 'cluster', users: 'user', contexts: 'context' } as const
export type ListName = keyof typeof LISTS

/**
 * One kubeconfig of several files. The first of several entries with the same name counts, and the first current
 * context. Paths become absolute, because those of each file are relative to its own folder.
 */
export function merged(files: readonly KubeconfigFile[]): JsonObject {
  const current = files.map(({ value }) => stringAt(value, 'current-context'))
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: mergedList(files, 'clusters'),
    contexts: mergedList(files, 'contexts'),
    'current-context': current.find((name) => name !== '') ?? '',
    users: mergedList(files, 'users'),
  }
}

/** The content of the entry of that name; undefined: there is none. */
export function entryOf(config: Json, list: ListName, name: string): JsonObject | undefined {
  const entries = arrayAt(config, list)
  const found = entries.find((entry) => stringAt(entry, 'name') === name)
  return found === undefined ? undefined : objectAt(found, LISTS[list])
}

/** The names of the entries of a list. */
export function entryNames(config: Json, list: ListName): readonly string[] {
  return arrayAt(config, list).map((entry) => stringAt(entry, 'name'))
}

function mergedList(files: readonly KubeconfigFile[], list: ListName): Json[] {
  const entries = new Map<string, Json>()
  for (const { path, value } of files) {
    for (const entry of arrayAt(value, list).filter(isJsonObject)) {
      const name = stringAt(entry, 'name')
      if (!entries.has(name)) entries.set(name, withAbsolutePaths(entry, list, dirname(path)))
    }
  }
  return [...entries.values()]
}

const PATHS = ['certificate-authority', 'client-certificate', 'client-key', 'tokenFile']

function withAbsolutePaths(entry: JsonObject, list: ListName, folder: string): JsonObject {
  const content = ownValue(entry, LISTS[list])
  if (!isJsonObject(content)) return entry
  const copy = { ...content }
  for (const field of PATHS) {
    const path = ownValue(copy, field)
    if (typeof path === 'string' && path !== '') copy[field] = resolve(folder, path)
  }
  const command = stringAt(copy, 'exec', 'command')
  if (command.includes('/') && !isAbsolute(command)) {
    copy['exec'] = { ...objectAt(copy, 'exec'), command: resolve(folder, command) }
  }
  return { ...entry, [LISTS[list]]: copy }
}

/** One file of the kubeconfig. */
export interface KubeconfigFile {
  /** Absolute. */
  readonly path: string
  readonly document: Document
  readonly value: JsonObject
}

/**
 * The files that exist, in the order in which their entries count.
 * @throws NP_CLIENT_KUBECONFIG
 */
export async function readKubeconfigFiles(where: Where): Promise<readonly KubeconfigFile[]> {
  const { paths, isRequired } = kubeconfigPaths(where)
  const files: KubeconfigFile[] = []
  for (const path of paths.map((one) => resolve(one))) {
    if (!isRequired && !(await exists(path))) continue
    const document = await readKubeconfigDocument(path)
    const value = kubeconfigValue(document, path) as Json
    files.push({ path, document, value: isJsonObject(value) ? value : {} })
  }
  return files
}

/**
 * The path for a new kubeconfig: the last file that is named, or that in the home folder. Undefined: there is neither.
 */
export function newKubeconfigPath(where: Where): string | undefined {
  const last = kubeconfigPaths(where).paths.at(-1)
  return last === undefined ? undefined : resolve(last)
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}

interface Where {
  /** `--kubeconfig`. */
  readonly flag: string | undefined
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The files of the kubeconfig, in the order in which their entries count. */
interface KubeconfigPaths {
  readonly paths: readonly string[]
  /** Whether a missing file is an error; true only for the flag. */
  readonly isRequired: boolean
}

/** `--kubeconfig`, else the files of `KUBECONFIG`, else `~/.kube/config`. */
function kubeconfigPaths({ flag, env }: Where): KubeconfigPaths {
  if (flag !== undefined && flag !== '') return { paths: [flag], isRequired: true }
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (listed.length > 0) return { paths: [...new Set(listed)], isRequired: false }
  const home = env['HOME'] ?? ''
  return { paths: home === '' ? [] : [join(home, '.kube', 'config')], isRequired: false }
}
