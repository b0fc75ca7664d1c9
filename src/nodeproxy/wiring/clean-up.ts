import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { IptablesMode } from '../../modes/iptables/mode.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { IptablesBackend } from '../config/configuration.ts'
import type { ExitCode } from '../program.ts'
import { CLEANUP_SETTINGS } from './cleanup-settings.ts'
import { openKernel } from './kernel.ts'

/** What `iptables` is here, and both back ends by name where this machine has them. */
const BACKENDS: readonly IptablesBackend[] = ['', 'nft', 'legacy']

/**
 * Removes our objects, whichever back end they were made with: first all rules,
 * then the sets, which rules of another back end may still name.
 */
export async function cleanUpKernel(clock: Clock, log: Logger): Promise<ExitCode> {
  const outcomes: ExitCode[] = []
  for (const step of ['removeRules', 'cleanup'] as const) {
    for (const backend of BACKENDS) outcomes.push(await cleanUp(backend, step, { clock, log }))
  }
  if (outcomes.includes(1)) return 1
  log.info('nothing of ours is left')
  return 0
}

async function cleanUp(
  backend: IptablesBackend,
  step: 'removeRules' | 'cleanup',
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
): Promise<ExitCode> {
  try {
    const kernel = await openKernel(clock, backend)
    try {
      const settings = { ...CLEANUP_SETTINGS, families: kernel.families }
      await new IptablesMode(settings, kernel)[step]()
    } finally {
      await kernel.close()
    }
    return 0
  } catch (error) {
    if (error instanceof NodeProxyError && error.code === 'NP_KERNEL_IPTABLES') {
      log.debug({ backend, err: error }, 'this machine has no such back end')
      return 0
    }
    log.error({ backend, err: error }, 'some of our rules could not be removed')
    return 1
  }
}
