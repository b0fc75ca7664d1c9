import type { SetCommand, SetCommandError } from '../../../src/kernel/ipset/sets.ts'
import type { IpvsCommand, IpvsCommandError } from '../../../src/kernel/ipvs/ipvs.ts'
import type { IpvsDependencies } from '../../../src/modes/ipvs/mode.ts'
import type { FakeKernel } from './fake-ipvs-node.ts'

/** How many more calls and commands a process completes before it is killed. */
export interface Life {
  left: number
}

export class Killed extends Error {}

/** The kernel for a process that is killed at some point, perhaps in the middle of a batch. */
export function mortal(kernel: FakeKernel, life: Life): IpvsDependencies {
  return {
    ...kernel,
    ipvs: mortalCalls(kernel.ipvs, life, {
      run: async (commands: readonly IpvsCommand[]): Promise<readonly IpvsCommandError[]> => {
        return inPart(commands, life, (some) => kernel.ipvs.run(some))
      },
    }),
    sets: mortalCalls(kernel.sets, life, {
      run: async (commands: readonly SetCommand[]): Promise<readonly SetCommandError[]> => {
        return inPart(commands, life, (some) => kernel.sets.run(some))
      },
    }),
    routes: mortalCalls(kernel.routes, life),
    relays: mortalCalls(kernel.relays, life),
    iptables: mortalCalls(kernel.iptables, life),
  }
}

async function inPart<C, R>(
  commands: readonly C[],
  life: Life,
  run: (commands: readonly C[]) => Promise<R>,
): Promise<R> {
  const count = Math.max(0, Math.min(commands.length, life.left))
  life.left -= commands.length
  const result = await run(commands.slice(0, count))
  if (count < commands.length) throw new Killed()
  return result
}

function mortalCalls<T extends object>(object: T, life: Life, special: Partial<T> = {}): T {
  return new Proxy(object, {
    get(target, name) {
      const own: unknown = Reflect.get(special, name)
      if (own !== undefined) return own
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]): unknown => {
        if (life.left-- <= 0) throw new Killed()
        return Reflect.apply(value, target, args)
      }
    },
  })
}
