import type { Mode } from '../../mode.ts'
import type { IpvsSettings } from '../settings.ts'

/** The code of the ipvs mode, and what is opened for it alone. */
export interface IpvsRuntime {
  /** Changes of its chains by others are heard. */
  readonly hears: boolean
  build(settings: IpvsSettings): Mode
  close(): Promise<void>
}
