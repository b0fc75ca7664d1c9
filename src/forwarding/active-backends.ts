import { hostPort } from '../lib/ip.ts'
import type { Backend, ForwardingEntry } from './entry.ts'

/** The backends of both pools, each once, under their `ip:port`. */
export function activeBackends(entry: ForwardingEntry | undefined): ReadonlyMap<string, Backend> {
  const active = new Map<string, Backend>()
  if (entry === undefined) return active
  for (const backend of entry.pools.cluster) active.set(hostPort(backend.ip, backend.port), backend)
  for (const backend of entry.pools.local) active.set(hostPort(backend.ip, backend.port), backend)
  return active
}
