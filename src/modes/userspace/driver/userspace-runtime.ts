import type { Mode } from '../../mode.ts'
import type { NetfilterConfiguration } from '../../netfilter/settings/configuration.ts'
import type { UserspaceSettings } from '../settings.ts'
import type { UserspaceConfiguration } from './configuration.ts'
import type { DrainingForwarder } from './draining-forwarder.ts'

/** How long a closing runtime may go on. */
export interface Ending {
  /** Until then new connections are accepted. */
  readonly serving: AbortSignal
  /** Until then connections may stay; later than `serving`, so that the last ones can end. */
  readonly all: AbortSignal
}

/** The code of the userspace mode, its workers, and what is opened for it alone. */
export interface UserspaceRuntime {
  readonly entry: 'redirect' | 'bind'
  readonly forwarder: DrainingForwarder
  /** Whether a monitor reports changes of its rules by other processes; also true if it has no rules. */
  readonly hasRuleMonitor: boolean
  /** Whether its workers accept new connections and use the mark that this configuration requires. */
  suits(config: NetfilterConfiguration & UserspaceConfiguration): boolean
  build(settings: UserspaceSettings): Mode
  /** Serves until `serving` ends, then accepts no new connections, and closes the remaining ones at the end. */
  close(ending: Ending): Promise<void>
}
