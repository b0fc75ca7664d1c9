import { NodeProxyError } from '../../lib/error.ts'

/**
 * The modes to try. `available`: those of this build, best first. `auto` tries all of them in that order, any other mode
 * is tried alone, and an empty `mode` is iptables. Throws NP_NODEPROXY_MODE_UNAVAILABLE for a mode that is not
 * available.
 */
export function chooseModes(mode: string, available: readonly string[]): readonly string[] {
  if (mode === 'auto') return available
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
