import type { Clock } from '../../lib/clock.ts'
import { NodeProxyError } from '../../lib/error.ts'
import { IptablesMode } from '../../modes/iptables/mode.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { ExitCode } from '../program.ts'
import { openKernel } from './kernel.ts'
import { CLEANUP_SETTINGS } from './cleanup-settings.ts'

/** Removes our objects from both iptables back ends that this machine has. */
export async function cleanUpKernel(clock: Clock, log: Logger): Promise<ExitCode> {
  let outcome: ExitCode = 0
  for (const backend of ['nft', 'legacy'] as const) {
    try {
      const kernel = await openKernel(clock, backend)
      try {
        const settings = { ...CLEANUP_SETTINGS, families: kernel.families }
        await new IptablesMode(settings, kernel).cleanup()
        log.info({ backend }, 'nothing of ours is left')
      } finally {
        await kernel.close()
      }
    } catch (error) {
      if (error instanceof NodeProxyError && error.code === 'NP_KERNEL_IPTABLES') {
        log.debug({ backend, err: error }, 'this machine has no such back end')
        continue
      }
      log.error({ backend, err: error }, 'some of our rules could not be removed')
      outcome = 1
    }
  }
  return outcome
}
