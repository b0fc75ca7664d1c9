import {
  arrayAt,
  isJsonObject,
  type JsonObject,
  objectAt,
  scalarText,
  stringAt,
} from '../../../src/lib/json.ts'
import type { Listed } from './history.ts'
import type { WatchLine } from './watch-log.ts'

/** Addresses and node ports that two Services held at the same time, after any of the changes. */
export function allocationFaults(start: Listed, changes: readonly WatchLine[]): readonly string[] {
  const holders = new Map<string, string>()
  const held = new Map<string, readonly string[]>()
  const faults: string[] = []
  const change = (name: string, object: JsonObject | undefined, version: number): void => {
    for (const claim of held.get(name) ?? []) holders.delete(claim)
    const claims = object === undefined ? [] : claimsOf(object)
    held.set(name, claims)
    for (const claim of claims) {
      const holder = holders.get(claim)
      if (holder !== undefined)
        faults.push(`${claim} is held by ${holder} and ${name} at ${version}`)
      holders.set(claim, name)
    }
  }
  for (const [name, object] of start.objects) change(name, object, start.version)
  for (const { type, name, object, version } of changes) {
    change(name, type === 'DELETED' ? undefined : object, version)
  }
  return faults
}

function claimsOf(service: JsonObject): readonly string[] {
  const spec = objectAt(service, 'spec')
  const addresses = arrayAt(spec, 'clusterIPs').filter((ip) => ip !== 'None')
  const ports = arrayAt(spec, 'ports').filter(isJsonObject)
  const nodePorts = ports.filter(({ nodePort }) => nodePort !== undefined)
  return [
    ...addresses.map(String),
    ...nodePorts.map((port) => `${stringAt(port, 'protocol')} ${scalarText(port['nodePort'])}`),
  ]
}
