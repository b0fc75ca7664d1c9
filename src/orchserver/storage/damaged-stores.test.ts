import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createApiServer } from '../../apiserver/api-server.ts'
import { arrayAt, type JsonObject, objectAt, stringAt, without } from '../../lib/json.ts'
import { prepareFile } from '../../storage/embedded/store-file.ts'
import { openInlineStore } from '../../storage/embedded/testing/inline-store.ts'
import type { Store, StoredEntry } from '../../storage/store.ts'
import {
  entriesOf,
  harmed,
  objectOf,
  populatedStore,
  seededNumbers,
} from '../testing/damaged-store.ts'
import { newFolder } from '../testing/new-folder.ts'
import { check } from './check.ts'

const OFFSETS = 120
const ETCD = { servers: [], caFile: '', certFile: '', keyFile: '', prefix: '/' }
const KINDS = ['services', 'configmaps', 'secrets', 'namespaces'] as const

/** The store of a data directory, or why it is refused. */
function opened(directory: string): { readonly store: Store } | { readonly refused: unknown } {
  try {
    const file = prepareFile(directory, () => expect.unreachable('there is a store'))
    return { store: openInlineStore(file, Date.now()) }
  } catch (error) {
    return { refused: error }
  }
}

/** What a server on the store shows to its clients, by storage key, and what it reports of itself. */
async function served(store: Store) {
  const server = createApiServer({ store })
  const { url } = await server.listen()
  // Its answers end their connections, so that it closes at once.
  server.drain()
  const shown = new Map<string, JsonObject>()
  for (const kind of KINDS) {
    const answer = await fetch(`${url}/api/v1/${kind}`)
    expect([kind, answer.status]).toEqual([kind, 200])
    for (const item of arrayAt((await answer.json()) as JsonObject, 'items')) {
      const names = ['namespace', 'name'].map((field) => stringAt(item, 'metadata', field))
      const at = names.filter((part) => part !== '').join('/')
      shown.set(`/${kind}/${at}`, objectAt({ item }, 'item'))
    }
  }
  const discarded = async (key: string): Promise<number> => {
    const [kind, ...names] = key.slice(1).split('/')
    const namespace = names.length === 2 ? `namespaces/${names[0]}/` : ''
    const path = `${url}/api/v1/${namespace}${kind}/${names.at(-1)}`
    return (await fetch(path, { method: 'DELETE' })).status
  }
  const health = await (await fetch(`${url}/readyz`)).text()
  return { shown, health, discarded, close: () => server.close() }
}

function isShown(entry: StoredEntry, shown: ReadonlyMap<string, JsonObject>): boolean {
  const item = shown.get(entry.key)
  if (item === undefined) return false
  expect(without(item, 'kind', 'apiVersion')).toEqual(objectOf(entry))
  return true
}

/** Every object that was stored is served as it was, or named as unreadable and can be deleted. */
async function expectNothingSilent(store: Store, truth: readonly StoredEntry[]): Promise<number> {
  const now = new Map((await entriesOf(store)).map((entry) => [entry.key, entry]))
  const { shown, health, discarded, close } = await served(store)
  const objects = truth.filter(({ key }) => KINDS.some((kind) => key.startsWith(`/${kind}/`)))
  const hidden = objects.filter((entry) => !isShown(entry, shown))
  if (hidden.length > 0) expect(health).toContain(`${hidden.length} stored object`)
  for (const { key } of hidden) {
    expect(now.get(key)?.damaged).toBe(true)
    expect([key, await discarded(key)]).toEqual([key, 200])
  }
  for (const { key, value } of truth.filter((entry) => !objects.includes(entry))) {
    const found = now.get(key)
    expect([key, found?.damaged ?? found?.value.equals(value)]).toEqual([key, true])
  }
  await close()
  return hidden.length
}

test(`a store that is damaged at any of ${OFFSETS} offsets is refused, or served with the damage named`, async () => {
  const { file, truth } = await populatedStore()
  const bytes = readFileSync(file)
  const number = seededNumbers(4_711)
  const folder = newFolder()
  const outcomes = { refused: 0, named: 0, intact: 0 }
  for (let index = 0; index < OFFSETS; index++) {
    const directory = join(folder, `${index}`)
    mkdirSync(directory)
    writeFileSync(join(directory, 'store.sqlite'), harmed(bytes, index, number))
    const found = await checked(directory)
    const result = opened(directory)
    if ('refused' in result) {
      outcomes.refused++
      expect(result.refused).toMatchObject({ code: expect.stringMatching(/^NP_STORAGE_/) })
      expect(found).toMatch(/^(damaged|refused)$/)
      continue
    }
    const hidden = await expectNothingSilent(result.store, truth)
    await result.store.close()
    if (hidden > 0) expect(found).toBe('damaged')
    outcomes[hidden > 0 ? 'named' : 'intact']++
  }
  expect(outcomes.refused).toBeGreaterThan(OFFSETS / 4)
  expect(outcomes.named).toBeGreaterThan(10)
}, 120_000)

async function checked(dataDir: string): Promise<string> {
  try {
    return (await check({ dataDir, etcd: ETCD, encryption: { keyFile: '' } }, undefined)).isClean
      ? 'clean'
      : 'damaged'
  } catch (error) {
    return stringAt(objectAt(error as JsonObject), 'code') ? 'refused' : 'damaged'
  }
}
