import type { ListedService } from '../../../../src/explain/ipvs-functions.ts'
import type { IpSet } from '../../../../src/explain/xtables/model/ip-set.ts'
import { memberText, type SetCommand } from '../../../../src/kernel/ipset/sets.ts'
import {
  type IpvsCommand,
  type VirtualServerId,
  virtualServerKey,
} from '../../../../src/kernel/ipvs/ipvs.ts'
import type { IpvsDependencies } from '../../../../src/modes/ipvs/mode.ts'
import type { FakeKernel } from '../fake-ipvs-node.ts'

/** The state that packets read in ipvs mode, beside rules and routes. */
export interface IpvsState {
  readonly sets: ReadonlyMap<string, IpSet>
  readonly services: readonly ListedService[]
}

/** Receives what a mode does with its kernel. */
export interface Watching {
  /** A request begins; it may have many commands. */
  request(): void
  /** The state of the kernel has changed. */
  state(state: IpvsState): void
}

/** A kernel that runs the commands of a mode one by one, and reports the state after each. */
export function stepwise(kernel: FakeKernel, watching: Watching): IpvsDependencies {
  const { ipvs, sets } = kernel
  const runServers = async (command: IpvsCommand) => {
    if (await exchangesScheduler(kernel, command)) {
      watching.state(withoutScheduler(await stateOf(kernel), command.id))
    }
    return ipvs.run([command])
  }
  const oneByOne =
    <C, R extends { readonly index: number }>(run: (command: C) => Promise<readonly R[]>) =>
    async (commands: readonly C[]): Promise<readonly R[]> => {
      const refused: R[] = []
      watching.request()
      for (const [index, command] of commands.entries()) {
        for (const one of await run(command)) refused.push({ ...one, index })
        watching.state(await stateOf(kernel))
      }
      return refused
    }
  return {
    ...kernel,
    ipvs: withRun(ipvs, oneByOne(runServers)),
    sets: withRun(
      sets,
      oneByOne((command: SetCommand) => sets.run([command])),
    ),
  }
}

async function exchangesScheduler({ ipvs }: FakeKernel, command: IpvsCommand): Promise<boolean> {
  if (command.do !== 'setService') return false
  const { settings } = (await ipvs.service(command.id)) ?? {}
  return settings !== undefined && settings.scheduler !== command.settings.scheduler
}

/** While the kernel exchanges a scheduler, new connections find no real server (ip_vs_edit_service). */
function withoutScheduler({ sets, services }: IpvsState, id: VirtualServerId): IpvsState {
  const isMeant = (one: ListedService) => nameOf(one) === virtualServerKey(id)
  return {
    sets,
    services: services.map((one) => (isMeant(one) ? { ...one, servers: [] } : one)),
  }
}

function withRun<T extends { run: unknown }>(object: T, run: T['run']): T {
  return new Proxy(object, {
    get(target, name) {
      if (name === 'run') return run
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** The kernel as it is now. */
export async function stateOf(kernel: FakeKernel): Promise<IpvsState> {
  const sets = new Map<string, IpSet>()
  for (const [name, { type }] of await kernel.sets.headers('')) {
    const members = (await kernel.sets.members(name)) ?? []
    const elements = members.map((member) => {
      const text = memberText(member)
      const parts = text.split(',')
      return { text, parts, isException: false, mark: member.mark, secondsLeft: undefined }
    })
    sets.set(name, { name, type, elements, isTemporary: false })
  }
  const services: ListedService[] = []
  for (const service of await kernel.ipvs.services()) {
    services.push({ service, servers: (await kernel.ipvs.servers(service.id)) ?? [] })
  }
  return { sets, services }
}

/** A name of a virtual server, which stays the same as long as the server exists. */
export function nameOf({ service: { id } }: ListedService): string {
  return virtualServerKey(id)
}
