import type { Lack, ModeKind } from './mode-driver.ts'

/** A mode that this daemon cannot open at all: it can be named, and says why it cannot work. */
export function deniedKind(
  name: string,
  { periods, lack }: Pick<ModeKind, 'periods'> & { readonly lack: Lack },
): ModeKind {
  const lacks = [{ ...lack, what: `mode ${name}: ${lack.what}` }]
  return {
    ...{ name, periods },
    demands: () => undefined,
    prepare: async () => ({ lacks, facts: {} }),
    blueprint() {
      throw new TypeError(`the ${name} mode is not prepared`)
    },
    tune: () => {},
    loopbackGuards: () => undefined,
    isServing: async () => false,
    leftovers: () => undefined,
    recover: async () => {},
    close: async () => {},
  }
}
