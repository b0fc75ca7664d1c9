import { dirname, isAbsolute, resolve } from 'node:path'
import {
  arrayAt,
  isJsonObject,
  type Json,
  type JsonObject,
  objectAt,
  ownValue,
  stringAt,
} from '../../lib/json.ts'
import type { KubeconfigFile } from './kubeconfig-files.ts'

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
