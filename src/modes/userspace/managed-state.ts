import type { Conntrack } from '../../kernel/conntrack/conntrack.ts'
import type { Sets } from '../../kernel/ipset/sets.ts'
import type { Iptables } from '../../kernel/iptables/iptables.ts'
import type { RuleMonitor } from '../../kernel/nftables/rule-monitor.ts'
import type { Routes } from '../../kernel/route/routes.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Family } from '../../lib/ip.ts'
import type { Digest, ObjectKey } from '../mode.ts'
import { ChainKeeper } from '../netfilter/chains/chain-keeper.ts'
import { ofKind } from '../netfilter/object-key.ts'
import { PolicyRoutes, ROUTE_TABLES } from '../netfilter/policy-routes.ts'
import { SetMembers } from '../netfilter/set-members.ts'
import type { PortsByFamily } from './forwarder.ts'
import type { ForwarderState } from './forwarder-state.ts'
import { CHAIN, OWNED_CHAINS, PREFIX, SET_REFUSED, SETS } from './names.ts'
import { UserspaceProgram } from './program.ts'
import type { TransparentListening, UserspaceSettings } from './settings.ts'

type Digests = ReadonlyMap<ObjectKey, Digest>

const TO_PORT = / -j DNAT --to-destination :(\d+)$/

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
  /** Such ports of an earlier run, until the conntrack records for them are deleted. */
  readonly formerPorts: Set<number>
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

/** The routes of the forwarder, and what the kernel holds of ours: all, or these objects. */
export async function observe(
  { forwarderState, redirect }: ManagedState,
  keys: readonly ObjectKey[] | undefined,
): Promise<Digests> {
  const all = forwarderState?.digests ?? new Map()
  const served = keys ? pick(all, keys) : all
  if (redirect === undefined) return new Map(served)
  const held = keys ? await observeSome(redirect, keys) : await observeAll(redirect)
  return new Map([...served, ...held])
}

/** The ports of each family to which rules in the kernel translate; 0: no rule does. */
export async function portsInKernel(iptables: Iptables): Promise<PortsByFamily> {
  const portIn = async (family: Family, chain: string) => {
    const rules = (await iptables.listChain(family, 'nat', chain)) ?? []
    return Number(rules.map((rule) => TO_PORT.exec(rule)?.[1]).find(Boolean) ?? 0)
  }
  const ports = new Map<Family, { readonly pods: number; readonly others: number }>()
  for (const family of [4, 6] as const) {
    const pods = await portIn(family, CHAIN.pods)
    ports.set(family, { pods, others: await portIn(family, CHAIN.redirect) })
  }
  return ports
}

function createRedirect(
  { netfilter }: TransparentListening,
  { sets, routes, iptables, monitor }: RedirectKernel,
  program: UserspaceProgram,
): Redirect {
  const { families } = netfilter
  return {
    sets: new SetMembers({
      sets,
      prefix: PREFIX,
      kept: families.flatMap((family) => SETS[family].kept),
      code: SET_REFUSED,
    }),
    policyRoutes: new PolicyRoutes(netfilter, routes, ROUTE_TABLES.userspace),
    redirectPorts: () => redirectPorts(iptables, families),
    formerPorts: new Set(),
    chains: new ChainKeeper({
      ...OWNED_CHAINS,
      iptables,
      monitor,
      families,
      contents: program,
    }),
  }
}

/** The local ports to which rules in the kernel translate connections, of this run or an earlier one. */
async function redirectPorts(
  iptables: Iptables,
  families: readonly Family[],
): Promise<ReadonlySet<number>> {
  const ports = new Set<number>()
  for (const family of families) {
    for (const chain of [CHAIN.redirect, CHAIN.pods]) {
      for (const rule of (await iptables.listChain(family, 'nat', chain)) ?? []) {
        const port = TO_PORT.exec(rule)?.[1]
        if (port !== undefined) ports.add(Number(port))
      }
    }
  }
  return ports
}

async function observeAll({ chains, sets, policyRoutes }: Redirect): Promise<Digests> {
  const rules = await chains.observe()
  return new Map([...rules, ...(await sets.observe()), ...(await policyRoutes.observe())])
}

async function observeSome(
  { chains, sets, policyRoutes }: Redirect,
  keys: readonly ObjectKey[],
): Promise<Digests> {
  const seen = new Map(await chains.observe(ofKind(keys, 'rule')))
  const found = await sets.observe(ofKind(keys, 'set', 'member'))
  const routed = ofKind(keys, 'route').length > 0 ? await policyRoutes.observe() : new Map()
  for (const [key, digest] of pick(new Map([...found, ...routed]), keys)) seen.set(key, digest)
  return seen
}

function pick(digests: Digests, keys: readonly ObjectKey[]): Digests {
  const wanted = new Set(keys)
  return new Map([...digests].filter(([key]) => wanted.has(key)))
}
