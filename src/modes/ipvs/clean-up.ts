import { NodeProxyError } from '../../lib/error.ts'
import type { ObjectKey } from '../mode.ts'
import type { Estate } from './estate.ts'
import { nameOf } from './object.ts'
import { observeAll } from './observe.ts'
import type { SetMembers } from './set-members.ts'

/** Kernels without these hold nothing of ours in them. */
const ABSENT = new Set(['NP_KERNEL_IPVS_MISSING', 'NP_KERNEL_IPSET'])

/**
 * Removes every trace of this mode and of its earlier runs: first what leads packets
 * to virtual servers, then those, and last the sets that say which ones were ours. What
 * cannot be removed holds up nothing but what is needed to find it again.
 */
export async function cleanUp(estate: Estate): Promise<void> {
  const { servers, sets, chains, transit } = estate
  const problems: unknown[] = []
  const attempt = (work: () => Promise<unknown>) =>
    ifPresent(work).catch((error: unknown) => problems.push(error))
  await ifPresent(() => observeAll(estate))
  await attempt(() => chains.removeAll())
  await attempt(() => transit.removeAll())
  await attempt(() => servers.deleteAll([...servers.known.keys()]))
  if (servers.known.size === 0) await attempt(() => removeSets(sets))
  else problems.push(new NodeProxyError('NP_IPVS_REFUSED', leftBehind(servers.known)))
  if (problems.length > 0) throw problems[0]
}

async function removeSets(sets: SetMembers): Promise<void> {
  const refusal = await sets.removeAll()
  if (refusal === undefined) return
  throw new NodeProxyError(refusal.code, `a set could not be removed: ${refusal.message}`)
}

function leftBehind(servers: ReadonlyMap<ObjectKey, string>): string {
  const names = [...servers.keys()].map(nameOf)
  return `${names.length} virtual servers could not be removed, the first is ${names[0]}; remove them (ipvsadm -D) and clean up again`
}

/** What a kernel without IPVS or sets cannot do need not be done. */
export async function ifPresent(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    if (!(error instanceof NodeProxyError && ABSENT.has(error.code))) throw error
  }
}
