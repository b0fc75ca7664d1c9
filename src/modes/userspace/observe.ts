import type { Digest, ObjectKey } from '../mode.ts'
import { memberOf, nameOf, ofKind } from '../netfilter/object-key.ts'
import type { ManagedState, Redirect } from './managed-state.ts'
import { kindOf } from './object.ts'

type Digests = ReadonlyMap<ObjectKey, Digest>

/** The routes of the forwarder, and our objects in the kernel: all, or these objects. */
export async function observe(
  { forwarderState, redirect }: ManagedState,
  keys: readonly ObjectKey[] | undefined,
): Promise<Digests> {
  const all = forwarderState?.digests ?? new Map()
  const served = keys ? pick(all, keys) : all
  if (redirect === undefined) return new Map(served)
  const held = keys ? await observeSome(redirect, keys) : await observeAll(redirect)
  return new Map([...served, ...held])
}

async function observeAll({ chains, sets, policyRoutes }: Redirect): Promise<Digests> {
  const rules = await chains.observe()
  return new Map([...rules, ...(await sets.observe()), ...(await policyRoutes.observe())])
}

async function observeSome(
  { chains, sets, policyRoutes }: Redirect,
  keys: readonly ObjectKey[],
): Promise<Digests> {
  const seen = new Map(await chains.observe(ofKind(keys, 'rule')))
  const inSets = ofKind(keys, 'set', 'member')
  const found = inSets.length > 0 ? await sets.observe(new Set(inSets.map(setOf))) : new Map()
  const routed = ofKind(keys, 'route').length > 0 ? await policyRoutes.observe() : new Map()
  for (const [key, digest] of pick(new Map([...found, ...routed]), keys)) seen.set(key, digest)
  return seen
}

function pick(digests: Digests, keys: readonly ObjectKey[]): Digests {
  const wanted = new Set(keys)
  return new Map([...digests].filter(([key]) => wanted.has(key)))
}

function setOf(key: ObjectKey): string {
  return kindOf(key) === 'set' ? nameOf(key) : memberOf(key).set
}
