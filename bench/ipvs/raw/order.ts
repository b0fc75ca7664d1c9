/** What the minimal sender receives, one JSON per line on its standard input. */
export interface SenderOrder {
  /**
   * `fill`: all virtual servers with their real servers, in batches of 500. `replace`: one
   * real server in, another to weight 0. `add`: a virtual server with ten real servers.
   * `burst`: all real servers of `size` virtual servers replaced.
   */
  readonly what: 'fill' | 'replace' | 'add' | 'burst'
  readonly count: number
  /** The number of virtual servers: all, or those of one burst. */
  readonly size: number
  /** Milliseconds before each. */
  readonly restMs: number
}

/** Its answer, one JSON per line. */
export interface SenderReport {
  /** Milliseconds of each, from making the first message to the last acknowledgement. */
  readonly ms: readonly number[]
  readonly messages: number
  /** Processor seconds since its start. */
  readonly cpuSeconds: number
  readonly peakKib: number
}
