import type { JsonObject } from '../../../src/lib/json.ts'
import type { UserClient } from './user-client.ts'

const POD = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'none' }] } }

/** Creates a namespace with one client and, as soon as that is answered, a Pod in it with another client. */
export async function createPodInNew(
  namespace: string,
  [first, second]: readonly [UserClient, UserClient],
): Promise<JsonObject> {
  await first.create('/api/v1/namespaces', { metadata: { name: namespace } })
  return second.create(`/api/v1/namespaces/${namespace}/pods`, POD)
}

/** Why requests were refused; empty: none was. */
export function refusals(results: readonly PromiseSettledResult<unknown>[]): readonly string[] {
  return results.flatMap((result) => (result.status === 'rejected' ? [String(result.reason)] : []))
}
