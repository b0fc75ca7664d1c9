import { release } from 'node:os'
import { systemClock as clock } from '../../../lib/clock.ts'
import { detectExtensions } from '../../../modes/iptables/probe.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import type { Kernel } from '../kernel/kernel.ts'
import type { Netfilter } from '../kernel/netfilter.ts'
import type { KernelFacts } from '../node/netfilter-settings.ts'
import { deniedKind } from './denied-kind.ts'
import { hasIpvs } from './has-ipvs.ts'
import { iptablesKind } from './iptables.ts'
import { IpvsKind } from './ipvs.ts'
import type { ModeKind } from './mode-kind.ts'
import { Modes, type Trial } from './modes.ts'
import { UserspaceKind } from './userspace.ts'
import { UserspaceLeftovers } from './userspace-leftovers.ts'

export interface OpenModes {
  readonly modes: Modes
  readonly facts: Omit<KernelFacts, 'routesLocalnet'>
}

/** Finds out what this kernel can do, and the mode that it and the configuration ask for. */
export async function openModes(
  kernel: Kernel,
  config: NodeProxyConfiguration,
  log: Logger,
): Promise<OpenModes> {
  const facts = { families: kernel.families, ...(await extensionsOf(kernel)) }
  if (kernel.netfilter.ok) log.info(facts, 'what this kernel can do')
  const trial: Trial = (tried) => ({
    config: tried,
    node: undefined,
    facts: { ...facts, routesLocalnet: false },
    localAddresses: [],
  })
  const kinds = kindsOf(kernel, log)
  return { modes: await Modes.choose({ kinds, trial, log }, config), facts }
}

/** All modes of this build, best first, as AVAILABLE_MODES names them. */
export function kindsOf(kernel: Kernel, log: Logger): readonly ModeKind[] {
  const { netfilter } = kernel
  if (netfilter.ok) {
    const { parts } = netfilter
    return [ipvsKind(parts, kernel, log), iptablesKind(parts), userspaceKind(kernel, log)]
  }
  const { lack } = netfilter
  return [
    deniedKind('ipvs', { lack, periods: ({ ipvs }) => ipvs }),
    deniedKind('iptables', { lack, periods: ({ iptables }) => iptables }),
    userspaceKind(kernel, log),
  ]
}

/** What rules may use; nothing where there are none. */
async function extensionsOf({ netfilter }: Kernel) {
  if (netfilter.ok) return detectExtensions(netfilter.parts)
  return { hairpin: 'rules', randomFully: false } as const
}

/** Its code is loaded with the first question to it. */
function ipvsKind(
  { iptables, sets, modules }: Netfilter,
  { sysctl, families }: Kernel,
  log: Logger,
): IpvsKind {
  const code = () => import('./open-ipvs.ts')
  return new IpvsKind({
    ...{ iptables, modules, sysctl, clock, log },
    release: release(),
    hasIpvs,
    open: async () => (await code()).openIpvs({ iptables, sets, clock, families }),
    openDeaf: async () => (await code()).openIpvsDeaf({ iptables, sets, clock }),
  })
}

/** The same; without rules nothing of an earlier run can be looked for. */
function userspaceKind({ netfilter, families }: Kernel, log: Logger): UserspaceKind {
  const code = () => import('./open-userspace.ts')
  return new UserspaceKind({
    ...{ netfilter, clock, log },
    open: async (config, entry, former) =>
      (await code()).openUserspace({ config, entry, former, families, netfilter, clock, log }),
    leftovers: (situation) => {
      if (!netfilter.ok) return undefined
      const { iptables, sets } = netfilter.parts
      const open = async () => (await code()).openUserspaceDeaf({ iptables, sets, clock })
      return new UserspaceLeftovers({ sets, open, situation })
    },
  })
}
