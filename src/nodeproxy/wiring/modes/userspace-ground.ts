import type { Mode } from '../../../modes/mode.ts'
import type { UserspaceSettings } from '../../../modes/userspace/settings.ts'
import type { NodeProxyConfiguration } from '../../config/configuration.ts'
import type { DrainingForwarder } from './draining-forwarder.ts'

/** The code of the userspace mode, its workers, and what is opened for it alone. */
export interface UserspaceGround {
  readonly entry: 'redirect' | 'bind'
  readonly forwarder: DrainingForwarder
  /** Changes of its rules by others are heard, or it has none. */
  readonly hears: boolean
  /** Whether its workers take new connections, and are marked as this configuration wants it. */
  suits(config: NodeProxyConfiguration): boolean
  build(settings: UserspaceSettings): Mode
  /** Takes no new connections; what is left at the signal is ended. */
  close(signal: AbortSignal): Promise<void>
}
