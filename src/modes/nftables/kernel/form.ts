import type { ChainSpec, SetSpec } from '../../../kernel/nftables/objects.ts'
import { digestOfChain, digestOfSet } from '../keys/digest.ts'
import type { Content } from '../program/content.ts'

/** Of a set or chain: what is not a size, a comment or a policy never changes, so it would have to be deleted. */
export type Form = SetSpec | ChainSpec

/** Whether what the kernel has by a name can become what is wanted by the same name. */
export function hasForm(content: Content, seen: Form): boolean {
  if (content.kind === 'chain') {
    return !('key' in seen) && hookDigest(content.spec) === hookDigest(seen)
  }
  return content.kind !== 'set' || ('key' in seen && formDigest(content.spec) === formDigest(seen))
}

function hookDigest({ hook }: ChainSpec) {
  if (hook === undefined) return digestOfChain({}, [])
  const { type, hook: at, priority } = hook
  return digestOfChain({ hook: { type, hook: at, priority } }, [])
}

function formDigest({ key, data, isInterval, isDynamic, hasTimeouts, hasCounters }: SetSpec) {
  const flags = { isInterval, isDynamic, hasTimeouts, hasCounters }
  return digestOfSet({
    key,
    ...(data === undefined ? {} : { data }),
    ...Object.fromEntries(Object.entries(flags).filter(([, flag]) => flag === true)),
  })
}
