import type { Mode } from '../../mode.ts'
import type { NetfilterConfiguration } from '../../netfilter/settings/configuration.ts'
import type { UserspaceSettings } from '../settings.ts'
import type { UserspaceConfiguration } from './configuration.ts'
import type { DrainingForwarder } from './draining-forwarder.ts'

/** How long a runtime that is closed may go on. */
export interface Ending {
  /** New connections are taken until then. */
  readonly serving: AbortSignal
  /** Connections may stay until then; later than `serving`, so that the last ones can end. */
  readonly all: AbortSignal
}

/** The code of the userspace mode, its workers, and what is opened for it alone. */
export interface UserspaceRuntime {
  readonly entry: 'redirect' | 'bind'
  readonly forwarder: DrainingForwarder
  /** Whether a monitor reports changes of its rules by other processes, or it has no rules. */
  readonly hasRuleMonitor: boolean
  /** Whether its workers take new connections, and are marked as this configuration wants it. */
  suits(config: NetfilterConfiguration & UserspaceConfiguration): boolean
  build(settings: UserspaceSettings): Mode
  /** Serves until it may go, then takes no new connections, and ends what is left in the end. */
  close(ending: Ending): Promise<void>
}
