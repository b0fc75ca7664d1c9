import { setTimeout as delay } from 'node:timers/promises'
import { firstEndpoints } from '../../cluster/objects.ts'
import { addNamespace, namespaceName, removeNamespace } from '../../lab/namespace.ts'
import { restoreText } from '../objects.ts'
import { clearAll, prepareRestore } from '../raw/ipvsadm.ts'
import { MinimalSender } from '../raw/minimal-sender.ts'
import type { SenderReport } from '../raw/order.ts'

const REST_MS = 100

/** Writes all virtual servers with the minimal sender, in an empty namespace. */
export function fillOnce(size: number): Promise<SenderReport> {
  return inEmptyNamespace('fill', async (name) => {
    const sender = new MinimalSender(name)
    try {
      return await sender.follow({ what: 'fill', count: 1, size, restMs: REST_MS })
    } finally {
      await sender.close()
    }
  })
}

export interface Restores {
  readonly fresh: readonly number[]
  /** Times of `ipvsadm -C` and another restore. */
  readonly again: readonly number[]
}

/** Writes the same with `ipvsadm --restore`, into an empty kernel and after a clear. */
export async function restores(size: number, folder: string, count: number): Promise<Restores> {
  const services = Array.from({ length: size }, (_, service) => firstEndpoints(service))
  const restore = prepareRestore(folder, restoreText(services))
  const fresh: number[] = []
  const again: number[] = []
  for (let n = 0; n < count; n++) {
    await inEmptyNamespace('restore', async (name) => {
      fresh.push(restore(name))
      await delay(REST_MS)
      const startedAt = performance.now()
      clearAll(name)
      restore(name)
      again.push(performance.now() - startedAt)
    })
  }
  return { fresh, again }
}

async function inEmptyNamespace<T>(role: string, act: (name: string) => Promise<T>): Promise<T> {
  const name = namespaceName(role)
  addNamespace(name)
  try {
    return await act(name)
  } finally {
    removeNamespace(name)
  }
}
