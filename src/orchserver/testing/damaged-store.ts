import { join } from 'node:path'
import { createApiServer } from '../../apiserver/api-server.ts'
import { postTo, service } from '../../apiserver/testing/test-api.ts'
import type { Json, JsonObject } from '../../lib/json.ts'
import { openInlineStore } from '../../storage/embedded/testing/inline-store.ts'
import type { Store, StoredEntry } from '../../storage/store.ts'
import { newFolder } from './new-folder.ts'

/** A store with objects of many kinds and sizes, and with some history; closed. */
export async function populatedStore() {
  const directory = newFolder()
  const file = join(directory, 'store.sqlite')
  const store = openInlineStore(file, Date.now())
  const server = createApiServer({ store })
  const { url } = await server.listen()
  const namespace = `${url}/api/v1/namespaces/default`
  for (let index = 0; index < 25; index++) {
    const type = index % 2 === 0 ? 'NodePort' : 'ClusterIP'
    await postTo(`${namespace}/services`, service(`web-${index}`, { type }))
    const data = { text: `${index} `.repeat(index * 40), other: 'ä€😀'.repeat(index) }
    await postTo(`${namespace}/configmaps`, { metadata: { name: `map-${index}` }, data })
    await postTo(`${namespace}/secrets`, { metadata: { name: `key-${index}` }, stringData: {} })
  }
  for (let round = 0; round < 3; round++) {
    for (let index = 0; index < 10; index++)
      await label(`${namespace}/services/web-${index}`, round)
  }
  await server.close()
  const truth = await entriesOf(store)
  await store.close()
  return { directory, file, truth }
}

async function label(url: string, round: number): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' }
  const body = JSON.stringify({ metadata: { labels: { round: `${round}` } } })
  await fetch(url, { method: 'PATCH', headers, body })
}

export async function entriesOf(store: Store): Promise<readonly StoredEntry[]> {
  const page = await store.list({ prefix: '/' })
  if (page.refused !== undefined) throw new Error(page.refused)
  return page.entries
}

export function objectOf({ value, modRevision }: StoredEntry): JsonObject {
  const object = JSON.parse(value.toString()) as { metadata: Json } & JsonObject
  const metadata = object.metadata as JsonObject
  return { ...object, metadata: { ...metadata, resourceVersion: String(modRevision) } }
}

/** Whole numbers below a limit, the same in every run (xorshift32). */
export function seededNumbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

const PAGE = 4096

/** Ways in which a file on a disk can be damaged, each at one offset. */
const HARMS: readonly ((bytes: Buffer, at: number, number: (below: number) => number) => Buffer)[] =
  [
    (bytes, at, number) => changed(bytes, at, 1, (byte) => byte ^ (1 << number(8))),
    (bytes, at, number) => changed(bytes, at, 1, (byte) => byte ^ (1 + number(255))),
    (bytes, at, number) => changed(bytes, at, 40, () => number(256)),
    (bytes, at, number) => changed(bytes, at, 1, () => 97 + number(26)),
    (bytes, at) => changed(bytes, at - (at % PAGE), PAGE, () => 0),
    (bytes, at) => changed(bytes, at - (at % 512), 512, () => 0),
    (bytes, at) => bytes.subarray(0, at),
    (bytes, at) => bytes.subarray(0, at - (at % PAGE)),
  ]

/** The bytes with one kind of damage, chosen by `index`. */
export function harmed(bytes: Buffer, index: number, number: (below: number) => number): Buffer {
  const harm = HARMS[index % HARMS.length]!
  return harm(Buffer.from(bytes), number(bytes.length), number)
}

function changed(bytes: Buffer, at: number, length: number, change: (byte: number) => number) {
  const end = Math.min(bytes.length, at + length)
  for (let index = at; index < end; index++) bytes[index] = change(bytes[index]!)
  return bytes
}
