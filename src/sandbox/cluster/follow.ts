import type { ApiClient } from '../../client/http/api-client.ts'
import { createReflector } from '../../client/reflector/reflector.ts'
import { systemClock } from '../../lib/clock.ts'
import { isJsonObject, type JsonObject } from '../../lib/json.ts'
import { systemRandom } from '../../lib/random.ts'

export interface FollowOptions<T> {
  readonly client: ApiClient
  /** `/api/v1/services`. */
  readonly path: string
  readonly decode: (object: JsonObject) => T
  /** `value: undefined`: gone. Keys are `namespace/name`. */
  readonly onChange: (key: string, value: T | undefined) => void
}

/** Follows a collection until `signal` is aborted. */
export async function follow<T>(options: FollowOptions<T>, signal: AbortSignal): Promise<void> {
  const { client, path, decode, onChange } = options
  const reflector = createReflector<T, never>({
    client,
    clock: systemClock,
    random: systemRandom,
    resource: { path, query: {} },
    decode: (raw) => ({ ok: true, value: isJsonObject(raw) ? decode(raw) : undefined }),
    onChanges: (changes) => changes.forEach(({ key, value }) => onChange(key, value)),
    onListed: () => undefined,
    onInvalid: () => undefined,
    onLost: () => undefined,
    onFailure: () => undefined,
    onConnected: () => undefined,
  })
  await reflector.run(signal)
}
