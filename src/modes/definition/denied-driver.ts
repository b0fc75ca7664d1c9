import { NodeProxyError } from '../../lib/error.ts'
import type { MissingRequirement } from '../mode.ts'
import type { ModeDefinition } from './mode-definition.ts'
import type { ModeDriver } from './mode-driver.ts'

/** A driver for a mode that cannot be opened, for example because rules cannot be written: `prepare` reports why. */
export function deniedDriver<C>(
  { name, periods }: Pick<ModeDefinition<C>, 'name' | 'periods'>,
  missing: MissingRequirement,
): ModeDriver<C> {
  const readiness = {
    missing: [{ ...missing, what: `mode ${name}: ${missing.what}` }],
    facts: {},
  }
  return {
    name,
    periods,
    demands: () => undefined,
    prepare: async () => readiness,
    spec() {
      throw new TypeError(`the ${name} mode is not prepared`)
    },
    view: async () => {
      const { code, what, remedy } = missing
      throw new NodeProxyError(code, `mode ${name}: ${what}`, { hint: remedy })
    },
    tune: () => {},
    loopbackGuards: () => undefined,
    isServing: async () => false,
    leftovers: () => undefined,
    recover: async () => {},
    close: async () => {},
  }
}
