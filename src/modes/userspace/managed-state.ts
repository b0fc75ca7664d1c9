import type { Conntrack } from '../../kernel/conntrack/conntrack.ts'
import type { Sets } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { RuleMonitor } from '../../kernel/nftables-monitor/rule-monitor.ts'
import type { Routes } from '../../kernel/route/routes.ts'
import type { Clock } from '../../lib/clock.ts'
import { ChainKeeper } from '../netfilter/chains/chain-keeper.ts'
import { ROUTE_TABLES } from '../netfilter/policy-route/policy-route.ts'
import { PolicyRoutes } from '../netfilter/policy-route/policy-routes.ts'
import { SetMembers } from '../netfilter/sets/set-members.ts'
import { entryPorts } from './entry-ports.ts'
import type { ForwarderState } from './forwarder-state.ts'
import { keptSets, OWNED_CHAINS, PREFIX, SET_REFUSED } from './names.ts'
import { UserspaceProgram } from './program.ts'
import type { TransparentListening, UserspaceSettings } from './settings.ts'

/** What brings packets here. */
export interface RedirectKernel {
  readonly sets: Sets
  readonly routes: Routes
  readonly iptables: Iptables
  readonly monitor: RuleMonitor
  readonly clock: Clock
  readonly conntrack: Pick<Conntrack, 'cutTranslatedTo'>
}

export interface UserspaceDependencies {
  /** Absent: the mode is only to be removed. */
  readonly forwarderState?: ForwarderState
  /** Absent: packets come in at listeners of this machine, and the kernel is left alone. */
  readonly kernel?: RedirectKernel
}

/** What of this mode is in the kernel, each part with what we know of it. */
export interface Redirect {
  readonly sets: SetMembers
  readonly chains: ChainKeeper
  readonly routes: PolicyRoutes
  /** Where rules lead connections at the moment. */
  entryPorts(): Promise<ReadonlySet<number>>
}

export interface ManagedState {
  readonly program: UserspaceProgram
  readonly forwarderState: ForwarderState | undefined
  readonly conntrack: RedirectKernel['conntrack'] | undefined
  /** Undefined: nothing is in the kernel. */
  readonly redirect: Redirect | undefined
}

export function createManagedState(
  settings: UserspaceSettings,
  { forwarderState, kernel }: UserspaceDependencies,
): ManagedState {
  const { listening } = settings
  const program = new UserspaceProgram(settings, forwarderState?.forwarder.ports ?? new Map())
  const isRedirecting = listening.kind === 'transparent'
  if (isRedirecting && kernel === undefined) {
    throw new TypeError('a transparent listening needs a kernel to redirect packets')
  }
  const redirect = isRedirecting && kernel ? createRedirect(listening, kernel, program) : undefined
  return { program, forwarderState, redirect, conntrack: kernel?.conntrack }
}

function createRedirect(
  { netfilter }: TransparentListening,
  { sets, routes, iptables, monitor }: RedirectKernel,
  program: UserspaceProgram,
): Redirect {
  const { families } = netfilter
  return {
    sets: new SetMembers({ sets, prefix: PREFIX, kept: keptSets(families), code: SET_REFUSED }),
    routes: new PolicyRoutes(netfilter, routes, ROUTE_TABLES.userspace),
    entryPorts: () => entryPorts(iptables, families),
    chains: new ChainKeeper({
      ...OWNED_CHAINS,
      ...{ iptables, monitor, families },
      contents: {
        rulesOf: (key) => program.rulesOf(key),
        jumpsIn: (place) => program.jumpsIn(place),
      },
    }),
  }
}
