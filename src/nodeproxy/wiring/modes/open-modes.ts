import { detectExtensions } from '../../../modes/iptables/probe.ts'
import type { Logger } from '../../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import type { Kernel } from '../kernel.ts'
import type { KernelFacts } from '../netfilter-settings.ts'
import { iptablesKind } from './iptables.ts'
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
  const kinds = [iptablesKind(kernel)]
  return { modes: await Modes.choose({ kinds, trial, log }, config), facts }
}
