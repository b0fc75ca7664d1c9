import { readFileSync } from 'node:fs'

/** What the kernel has counted of TCP in this process's network namespace, so that a busy machine does not look like a lossy network. */
export interface SynCounters {
  /** First packets of connections that were sent again. */
  readonly repeated: number
  readonly resets: number
}

/** Why the first packet of a connection was sent again, and how often. */
export interface Repeats {
  /** Nothing answered it. */
  readonly lost: number
  /**
   * It was taken for a packet of an older connection that the other end still held in TIME_WAIT, and answered with an
   * acknowledgement of that connection. The kernel sent a reset, which ends the TIME_WAIT, and the packet again.
   */
  readonly metTimeWait: number
}

export function readSynCounters(): SynCounters {
  return {
    repeated: counterIn(readFileSync('/proc/self/net/netstat', 'utf8'), 'TcpExt', 'TCPSynRetrans'),
    resets: counterIn(readFileSync('/proc/self/net/snmp', 'utf8'), 'Tcp', 'OutRsts'),
  }
}

/**
 * What happened while a connection was made: every reset of ours explains one repeated packet, since without an answer
 * there is nothing to reset.
 */
export function repeatsBetween(before: SynCounters, after: SynCounters): Repeats {
  const repeated = after.repeated - before.repeated
  const metTimeWait = Math.min(repeated, after.resets - before.resets)
  return { lost: repeated - metTimeWait, metTimeWait }
}

/** Two lines for each protocol: names, then values. 0: not counted. */
export function counterIn(text: string, protocol: string, name: string): number {
  const [names, values] = text.split('\n').filter((line) => line.startsWith(`${protocol}:`))
  const column = names?.split(' ').indexOf(name) ?? -1
  return column < 0 ? 0 : Number(values?.split(' ')[column])
}
