import { NodeProxyError } from '../../../lib/error.ts'
import type { ModeDefinition } from '../../../modes/definition/mode-definition.ts'
import { iptables } from '../../../modes/iptables/driver.ts'
import { ipvs } from '../../../modes/ipvs/driver/definition.ts'
import { nftables } from '../../../modes/nftables/driver/definition.ts'
import { userspace } from '../../../modes/userspace/driver/definition.ts'
import type { Field } from '../../../settings/field.ts'
import { oneOf } from '../../../settings/scalar-types.ts'

/** The modes of this build, best first: what `mode: auto` tries, and what errors name. */
export const MODES = [
  nftables,
  ipvs,
  iptables,
  userspace,
] as const satisfies readonly ModeDefinition[]

/**
 * The configuration fields of all modes together. `periods` of each mode takes the mode's own part; what fits the parameter
 * of all of these functions has all parts.
 */
export type ModeConfiguration =
  PeriodsOf<(typeof MODES)[number]> extends (config: infer Configuration) => unknown
    ? Configuration
    : never

type PeriodsOf<Definition> = Definition extends { readonly periods: infer Periods }
  ? Periods
  : never

/** The choice among these modes, best first. */
export function modeField(modes: readonly Pick<ModeDefinition, 'name'>[]): Field<string> {
  const [best = '', ...others] = modes.map(({ name }) => name)
  return {
    flag: 'proxy-mode',
    type: oneOf(['', best, ...others, 'auto']),
    fallback: '',
    doc: `How the kernel forwards. Empty: iptables. auto: ${[`${best} where this kernel can do it`, ...others].join(', else ')}; the log says why. Changed while running, the new mode is programmed completely before the old one is removed; a mode that the kernel cannot do is refused.`,
    reload: 'live',
    zeroIsUnset: true,
  }
}

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
