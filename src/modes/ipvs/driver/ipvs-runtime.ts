import type { Mode } from '../../mode.ts'
import type { IpvsSettings } from '../settings.ts'

/** The code of the ipvs mode, with the sockets that are opened for it alone. */
export interface IpvsRuntime {
  /** Whether a monitor reports changes of our chains by other processes. */
  readonly hasRuleMonitor: boolean
  build(settings: IpvsSettings): Mode
  /** Closes relays and sockets; modes that were built do not work afterwards. */
  close(): Promise<void>
}
