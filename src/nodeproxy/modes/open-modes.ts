import { release } from 'node:os'
import { steadyClock as clock } from '../../lib/clock.ts'
import type { ModeDefinition } from '../../modes/definition/mode-definition.ts'
import type { ModeDriver } from '../../modes/definition/mode-driver.ts'
import type { KernelFacts } from '../../modes/netfilter/settings/settings.ts'
import { detectExtensions } from '../../modes/netfilter/trial.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { NodeProxyConfiguration } from '../config/fields/configuration.ts'
import { MODES } from '../config/fields/mode-registry.ts'
import type { Kernel } from '../kernel/kernel.ts'
import { Modes, type TrialInputs } from './modes.ts'

/** The modes, and what the kernel can do. */
export interface OpenModes {
  readonly modes: Modes
  readonly facts: Omit<KernelFacts, 'routesLocalnet'>
}

/** How the modes are opened. */
export interface OpenModesParts {
  readonly log: Logger
  /** Default: the modes of this build. */
  readonly modes?: readonly ModeDefinition[]
}

/** Detects what this kernel can do, and chooses the mode. @throws as `Modes.choose` */
export async function openModes(
  kernel: Kernel,
  config: NodeProxyConfiguration,
  { log, modes = MODES }: OpenModesParts,
): Promise<OpenModes> {
  const facts = await kernelFacts(kernel)
  if (kernel.rights.ok) log.info(facts, 'what this kernel can do')
  const inputsFor: TrialInputs = (tried) => ({
    config: tried,
    node: undefined,
    facts: { ...facts, routesLocalnet: false },
    localAddresses: [],
  })
  const drivers = driversOf(modes, kernel, log)
  return { modes: await Modes.choose({ drivers, inputsFor, log }, config), facts }
}

/** A driver for each of these modes, in the same order. */
export function driversOf(
  modes: readonly ModeDefinition[],
  { rights, netfilter, families, sysctl }: Kernel,
  log: Logger,
): readonly ModeDriver[] {
  return modes.map((mode) => mode.createDriver({ rights, netfilter, families, sysctl, clock, log }))
}

/** What rules can use in this kernel. */
export async function kernelFacts(kernel: Kernel): Promise<OpenModes['facts']> {
  return { families: kernel.families, ...(await extensionsOf(kernel)) }
}

/** The iptables extensions that rules can use. */
async function extensionsOf({ netfilter }: Kernel) {
  if (netfilter.ok) return detectExtensions(netfilter.parts.iptables, release())
  return { hairpin: 'rules', randomFully: false } as const
}
