import type { WalkFacts } from '../evidence/node-facts.ts'

/** `from 10.0.0.2 by cbr0 to 172.30.0.1:80 (clusterIP of shop/web)`. */
export function packetText({ src, inInterface, dst, port, frontend, service }: WalkFacts): string {
  const from = src === '' ? 'from the node' : `from ${src} by ${inInterface}`
  const to = dst.includes(':') ? `[${dst}]:${port}` : `${dst}:${port}`
  return `${from} to ${to}${service === '' ? '' : ` (${frontend} of ${service})`}`
}
