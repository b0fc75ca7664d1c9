import { NodeProxyError } from '../../lib/error.ts'

/**
 * The modes to try, best first: the configured one, or for `auto` all there are
 * in `available`'s order; also for `nftables`, which configurations of kube-proxy carry, while
 * there is no such mode. Throws NP_NODEPROXY_MODE_UNAVAILABLE.
 */
export function chooseModes(mode: string, available: readonly string[]): readonly string[] {
  if (mode === 'auto' || isSubstituted(mode, available)) return available
  const wanted = mode === '' ? 'iptables' : mode
  if (available.includes(wanted)) return [wanted]
  throw new NodeProxyError(
    'NP_NODEPROXY_MODE_UNAVAILABLE',
    `mode ${JSON.stringify(wanted)} is not part of this build`,
    {
      object: 'mode',
      hint: `set mode (--proxy-mode) to one of: ${[...available, 'auto'].join(', ')}`,
    },
  )
}

/** Whether the best mode that there is takes the place of the configured one. */
export function isSubstituted(mode: string, available: readonly string[]): boolean {
  return mode === 'nftables' && !available.includes(mode)
}
