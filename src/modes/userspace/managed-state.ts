import type { Conntrack } from '../../kernel/conntrack/conntrack.ts'
import type { Sets } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { RuleMonitor } from '../../kernel/nftables-monitor/rule-monitor.ts'
import type { Routes } from '../../kernel/route/routes.ts'
import type { Clock } from '../../lib/clock.ts'
import { ChainKeeper } from '../netfilter/chains/chain-keeper.ts'
import { PolicyRoutes, ROUTE_TABLES } from '../netfilter/policy-routes.ts'
import { SetMembers } from '../netfilter/set-members.ts'
import type { ForwarderState } from './forwarder-state.ts'
import { keptSets, OWNED_CHAINS, PREFIX, SET_REFUSED } from './names.ts'
import { type PortsByFamily, UserspaceProgram } from './program.ts'
import { redirectPorts } from './redirect-ports.ts'
import type { TransparentListening, UserspaceSettings } from './settings.ts'

/** The parts of the kernel that bring packets here. */
export interface RedirectKernel {
  readonly sets: Sets
  readonly routes: Routes
  readonly iptables: Iptables
  readonly monitor: RuleMonitor
  readonly clock: Clock
  readonly conntrack: Pick<Conntrack, 'cutTranslatedTo'>
}

/** The dependencies of an instance, which does not close them. */
export interface UserspaceDependencies {
  /** Absent if the mode is only to be removed. */
  readonly forwarderState?: ForwarderState
  /** Absent if packets arrive at listeners of this machine: the kernel is not changed then. */
  readonly kernel?: RedirectKernel
  /** Without a forwarder: the ports of another process's forwarder, for the rules. */
  readonly ports?: PortsByFamily
}

/** The kernel objects of this mode, by kind; each part remembers what it read and wrote last. */
export interface Redirect {
  readonly sets: SetMembers
  readonly chains: ChainKeeper
  readonly policyRoutes: PolicyRoutes
  /** Local ports to which the rules in the kernel translate at the moment. */
  redirectPorts(): Promise<ReadonlySet<number>>
}

/** The parts of one instance of the mode, on which its operations work. */
export interface ManagedState {
  readonly program: UserspaceProgram
  readonly forwarderState: ForwarderState | undefined
  readonly conntrack: RedirectKernel['conntrack'] | undefined
  /** Undefined if nothing is written to the kernel. */
  readonly redirect: Redirect | undefined
}

/** Builds the parts for these settings. Throws TypeError for `transparent` without a kernel. */
export function createManagedState(
  settings: UserspaceSettings,
  { forwarderState, kernel, ports }: UserspaceDependencies,
): ManagedState {
  const { listening } = settings
  const program = new UserspaceProgram(
    settings,
    forwarderState?.forwarder.ports ?? ports ?? new Map(),
  )
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
    policyRoutes: new PolicyRoutes(netfilter, routes, ROUTE_TABLES.userspace),
    redirectPorts: () => redirectPorts(iptables, families),
    chains: new ChainKeeper({
      ...OWNED_CHAINS,
      iptables,
      monitor,
      families,
      contents: {
        rulesOf: (key) => program.rulesOf(key),
        jumpsIn: (place) => program.jumpsIn(place),
      },
    }),
  }
}
