import { release } from 'node:os'
import { systemClock as clock } from '../../../lib/clock.ts'
import { detectExtensions } from '../../../modes/iptables/probe.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import type { Kernel } from '../kernel.ts'
import type { KernelFacts } from '../netfilter-settings.ts'
import { hasIpvs } from './has-ipvs.ts'
import { iptablesKind } from './iptables.ts'
import { IpvsKind } from './ipvs.ts'
import type { ModeKind } from './mode-kind.ts'
import { Modes, type Trial } from './modes.ts'

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
  const facts = { families: kernel.families, ...(await detectExtensions(kernel)) }
  log.info(facts, 'what this kernel can do')
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
  return [ipvsKind(kernel, log), iptablesKind(kernel)]
}

/** Its code is loaded with the first question to it. */
function ipvsKind(kernel: Kernel, log: Logger): IpvsKind {
  const { iptables, sets, modules, sysctl, families } = kernel
  const code = () => import('./open-ipvs.ts')
  return new IpvsKind({
    ...{ iptables, modules, sysctl, clock, log },
    release: release(),
    hasIpvs,
    open: async () => (await code()).openIpvs({ iptables, sets, clock, families }),
    openDeaf: async () => (await code()).openIpvsDeaf({ iptables, sets, clock }),
  })
}
