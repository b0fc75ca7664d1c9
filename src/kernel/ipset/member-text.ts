import type { Member } from './sets.ts'

/** What makes a member itself, in ipset's own words: `10.96.0.1,tcp:80,192.168.0.0/16`. */
export function memberText({ ip, protocol, port, net }: Member): string {
  const words: string[] = [ip]
  if (port !== undefined) words.push(`${protocol?.toLowerCase() ?? ''}:${port}`)
  if (net !== undefined) words.push(net)
  return words.join(',')
}
