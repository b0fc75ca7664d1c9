import type { FakeNamespace } from '../../../../src/kernel/nftables/testing/fake-namespace.ts'
import type { Family } from '../../../../src/lib/ip.ts'
import {
  clientMapOf,
  isBackendSet,
  portMapOf,
  tableOf,
} from '../../../../src/modes/nftables/keys/names.ts'

const FAMILIES: readonly Family[] = [4, 6]
const TIMEOUT_MS = 60_000

/** Sends a client's packet to each backend that may be remembered, and applies the effects of the rules. */
export function sendClients(namespace: FakeNamespace): void {
  for (const { family, set, elements } of backendSets(namespace)) {
    const [clients, ports] = [clientMapOf(set), portMapOf(set, family)]
    const length = family === 4 ? 4 : 16
    for (const [index, backend] of elements.entries()) {
      const key = Buffer.alloc(length, index + 1)
      const add = (map: string, data: Buffer) =>
        namespace.update(tableOf(family), map, { key, data, timeout: TIMEOUT_MS })
      if (ports === undefined) add(clients, backend)
      else {
        add(clients, backend.subarray(0, length))
        add(ports, backend.subarray(length))
      }
    }
  }
}

/** The clients that are remembered with something that is not a backend. */
export function strayClients(namespace: FakeNamespace): readonly string[] {
  return backendSets(namespace).flatMap(({ family, set, elements }) => {
    const present = new Set(elements.map((one) => one.toString('hex')))
    const sets = namespace.table(tableOf(family))?.sets
    const dataOf = (map: string) =>
      [...(sets?.get(map)?.store.all() ?? [])]
        .filter(({ expiresAt = Number.POSITIVE_INFINITY }) => expiresAt > namespace.now)
        .map(({ element: { key, data } }) => [key.toString('hex'), hex(data)] as const)
    const ports = portMapOf(set, family)
    const portOf = new Map(ports === undefined ? [] : dataOf(ports))
    return dataOf(clientMapOf(set))
      .filter(([key, data]) => !present.has(`${data}${portOf.get(key) ?? ''}`))
      .map(([key, data]) => `${set}: ${key} ${data}`)
  })
}

function hex(data: unknown): string {
  return Buffer.isBuffer(data) ? data.toString('hex') : ''
}

function backendSets(namespace: FakeNamespace) {
  return FAMILIES.flatMap((family) =>
    [...(namespace.table(tableOf(family))?.sets ?? [])]
      .filter(([set]) => isBackendSet(set))
      .map(([set, { store }]) => ({
        family,
        set,
        elements: [...store.all()].map(({ element }) => element.key),
      })),
  )
}
