import { readFileSync } from 'node:fs'

/** TCP counters of this process's network namespace. They tell a busy machine from a lossy network. */
export interface SynCounters {
  /** SYN packets that were sent again. */
  readonly repeated: number
  readonly resets: number
}

/** Why the first packet of a connection was sent again, and how often. */
export interface Repeats {
  /** How often nothing answered the SYN. */
  readonly lost: number
  /**
   * How often the other end took the SYN for a packet of an older connection that it held in TIME_WAIT, and answered
   * with an acknowledgement of that connection. The kernel then sent a reset, which ends the TIME_WAIT, and the SYN
   * again.
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
 * Why SYNs were repeated while a connection was made. Each reset that the kernel sent explains one repeated SYN, since
 * without an answer there is nothing to reset.
 */
export function repeatsBetween(before: SynCounters, after: SynCounters): Repeats {
  const repeated = after.repeated - before.repeated
  const metTimeWait = Math.min(repeated, after.resets - before.resets)
  return { lost: repeated - metTimeWait, metTimeWait }
}

/** A counter in a text with two lines for each protocol, names and values. 0: the text does not have it. */
export function counterIn(text: string, protocol: string, name: string): number {
  const [names, values] = text.split('\n').filter((line) => line.startsWith(`${protocol}:`))
  const column = names?.split(' ').indexOf(name) ?? -1
  return column < 0 ? 0 : Number(values?.split(' ')[column])
}
