import type { ApiClient } from '../../../src/client/http/api-client.ts'
import type { JsonObject } from '../../../src/lib/json.ts'

const LIFETIME_MS = 60_000

/** Watches a collection until one of its objects meets the condition; fails after a minute. */
export async function untilObject(
  api: ApiClient,
  path: string,
  condition: (object: JsonObject) => boolean,
): Promise<void> {
  const aborter = new AbortController()
  const { signal } = aborter
  const watch = await api.watch(path, { query: { watch: 'true' }, signal, lifetimeMs: LIFETIME_MS })
  if (!watch.ok) throw new Error(`${path}: ${JSON.stringify(watch.failure)}`)
  for await (const batch of watch.value.batches) {
    const objects = batch.map((line) => (JSON.parse(line ?? '{}') as JsonObject)['object'])
    if (objects.some((object) => condition((object ?? {}) as JsonObject))) {
      aborter.abort()
      return
    }
  }
  throw new Error(`${path}: no object fulfilled ${String(condition)} within ${LIFETIME_MS} ms`)
}
