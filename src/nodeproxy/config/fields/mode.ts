import type { ModeDefinition } from '../../../modes/definition/mode-definition.ts'
import type { Field } from '../../../settings/field.ts'
import { oneOf } from '../../../settings/scalar-types.ts'

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
