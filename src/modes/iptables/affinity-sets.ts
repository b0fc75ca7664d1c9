import type { Ipset } from '../../kernel/ipset/ipset.ts'
import type { ObjectKey, Refusal } from '../mode.ts'

/** Creates sets; the ones that the kernel refuses come back with its reason. */
export async function createSets(
  ipset: Ipset,
  keys: readonly ObjectKey[],
  optionsOf: (key: ObjectKey) => string | undefined,
): Promise<ReadonlyMap<ObjectKey, Refusal>> {
  return run(ipset, keys, (key) => `create ${nameOf(key)} ${optionsOf(key) ?? ''} -exist`)
}

/** Destroys sets; one that a foreign rule still names stays, with the reason. */
export async function destroySets(
  ipset: Ipset,
  keys: readonly ObjectKey[],
): Promise<ReadonlyMap<ObjectKey, Refusal>> {
  return run(ipset, keys, (key) => `destroy ${nameOf(key)}`)
}

async function run(
  ipset: Ipset,
  keys: readonly ObjectKey[],
  commandOf: (key: ObjectKey) => string,
): Promise<ReadonlyMap<ObjectKey, Refusal>> {
  const failed = new Map<ObjectKey, Refusal>()
  if (keys.length === 0) return failed
  for (const { index, message } of await ipset.restore(keys.map(commandOf))) {
    const key = keys[index]
    if (key) failed.set(key, { code: 'NP_IPTABLES_SET', message })
  }
  return failed
}

function nameOf(key: ObjectKey): string {
  return key.slice('set/'.length)
}
