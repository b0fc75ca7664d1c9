import type { Sets } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { Ipvs } from '../../kernel/ipvs/ipvs.ts'
import type { RuleMonitor } from '../../kernel/nftables/rule-monitor.ts'
import type { Relays } from '../../kernel/relay/relays.ts'
import type { Routes } from '../../kernel/route/routes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { ObjectKey } from '../mode.ts'
import { ChainKeeper } from '../netfilter/chains/chain-keeper.ts'
import { SetMembers } from '../netfilter/set-members.ts'
import { Drainer } from './drainer.ts'
import { OWNED_CHAINS, PREFIX, SET_REFUSED, SETS } from './objects/names.ts'
import { IpvsProgram } from './program.ts'
import { ServerWriter } from './servers/server-writer.ts'
import { VirtualServers } from './servers/virtual-servers.ts'
import { drainMillis, type IpvsSettings } from './settings.ts'
import { Transit } from './transit.ts'

/** The kernel as this mode uses it; tests pass fakes. */
export interface IpvsDependencies {
  readonly ipvs: Ipvs
  readonly sets: Sets
  readonly routes: Routes
  readonly relays: Relays
  readonly iptables: Iptables
  readonly monitor: RuleMonitor
  readonly clock: Clock
}

/** What this mode keeps in the kernel, each part with its record of what is there. */
export interface ManagedState {
  readonly program: IpvsProgram
  readonly settings: IpvsSettings
  readonly servers: VirtualServers
  readonly writer: ServerWriter
  readonly sets: SetMembers
  readonly chains: ChainKeeper
  readonly transit: Transit
  readonly drainer: Drainer
}

/** Nothing is read or written yet. */
export function createManagedState(settings: IpvsSettings, kernel: IpvsDependencies): ManagedState {
  const program = new IpvsProgram(settings)
  const { families } = settings.netfilter
  const millisOf = (key: ObjectKey) => drainMillis(key, settings)
  const servers = new VirtualServers(kernel.ipvs)
  const writer = new ServerWriter({
    ipvs: kernel.ipvs,
    servers,
    clock: kernel.clock,
    specOf: (key) => program.specOf(key),
    drains: (key) => millisOf(key) > 0,
    scheduler: settings.scheduler,
  })
  const chains = new ChainKeeper({
    ...OWNED_CHAINS,
    iptables: kernel.iptables,
    monitor: kernel.monitor,
    families,
    contents: program,
  })
  return {
    program,
    settings,
    servers,
    writer,
    chains,
    sets: new SetMembers({
      sets: kernel.sets,
      prefix: PREFIX,
      kept: families.flatMap((family) => SETS[family].kept),
      code: SET_REFUSED,
    }),
    transit: new Transit(settings, kernel),
    drainer: new Drainer(servers, kernel.clock, millisOf),
  }
}
