import { systemClock } from '../../../lib/clock.ts'
import { MODES } from '../../modes/mode-registry.ts'

/** Whether the guard of 127.0.0.0/8 of a mode that writes its rules without iptables stands. */
export async function isGuardedByMode(): Promise<boolean> {
  for (const mode of MODES) if (await mode.guardsLoopback?.(systemClock)) return true
  return false
}
