import { NodeProxyError } from '../../lib/error.ts'
import type { Estate } from './estate.ts'
import { observeAll } from './observe.ts'

/** Kernels without these hold nothing of ours in them. */
const ABSENT = new Set(['NP_KERNEL_IPVS_MISSING', 'NP_KERNEL_IPSET'])

/**
 * Removes every trace of this mode and of its earlier runs: first what leads packets
 * to virtual servers, then those, and last the sets that say which ones were ours.
 */
export async function cleanUp(estate: Estate): Promise<void> {
  const { servers, sets, chains, transit } = estate
  await ifPresent(() => observeAll(estate))
  await chains.removeAll()
  await transit.removeAll()
  const gone = [...servers.known.keys()]
  await ifPresent(() => servers.deleteAll(gone))
  await ifPresent(async () => {
    const refusal = await sets.removeAll()
    if (refusal) {
      throw new NodeProxyError(refusal.code, `a set could not be removed: ${refusal.message}`)
    }
  })
}

async function ifPresent(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof NodeProxyError && ABSENT.has(error.code))) throw error
  }
}
