import { type JsonObject, stringAt } from '../../lib/json.ts'
import type { ServedApi } from './served-api.ts'

/** Follows a collection until it holds what is wanted; first as a whole, which comes object by object. */
export async function expectSoon(
  api: ServedApi,
  path: string,
  wanted: (items: readonly JsonObject[]) => boolean,
): Promise<void> {
  const watch = await api.watch(
    `${path}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
  )
  const items = new Map<string, JsonObject>()
  let isWhole = false
  while (!isWhole || !wanted([...items.values()])) {
    const event = await watch.next()
    if (event === undefined) throw new Error('the watch ended')
    if (event.type === 'BOOKMARK') {
      isWhole = true
      continue
    }
    const name = stringAt(event.object, 'metadata', 'name')
    if (event.type === 'DELETED') items.delete(name)
    else items.set(name, event.object)
  }
  watch.close()
}

/** Reads an object until it no longer exists. */
export async function expectGone(api: ServedApi, path: string): Promise<void> {
  while ((await api.call('GET', path)).status !== 404) await Promise.resolve()
}
