/** Running numbers of a backend, or of a route with all backends that it ever had. */
export class RunningTally {
  connections = 0
  /** Of connections that have ended. */
  bytesIn = 0
  bytesOut = 0
}
