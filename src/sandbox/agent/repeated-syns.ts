import { readFileSync } from 'node:fs'

/**
 * How often the kernel has repeated the first packet of a TCP connection in this
 * process's network namespace: each time, the one before got lost. Counted by
 * the kernel, so a busy machine does not look like a lossy network.
 */
export function repeatedSyns(): number {
  return parseRepeatedSyns(readFileSync('/proc/self/net/netstat', 'utf8'))
}

/** Two lines per protocol: names, then values. */
export function parseRepeatedSyns(text: string): number {
  const [names, values] = text.split('\n').filter((line) => line.startsWith('TcpExt:'))
  const column = names?.split(' ').indexOf('TCPSynRetrans') ?? -1
  return column < 0 ? 0 : Number(values?.split(' ')[column])
}
