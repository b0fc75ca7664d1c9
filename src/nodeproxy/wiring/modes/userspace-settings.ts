import { bindingKey } from '../../../modes/userspace/binding.ts'
import type { Listening, UserspaceSettings } from '../../../modes/userspace/settings.ts'
import type { Binding } from '../../config/configuration.ts'
import { netfilterSettings } from '../node/netfilter-settings.ts'
import type { Situation } from './mode-kind.ts'
import { nodeAddresses } from './node-addresses.ts'
import type { UserspaceGround } from './userspace-ground.ts'

/** What configuration, Node object, kernel and interfaces ask of the userspace mode together. */
export function userspaceSettings(
  situation: Situation,
  entry: UserspaceGround['entry'],
): UserspaceSettings {
  const { config, node, facts } = situation
  const { bindMap, scheduler } = config.userspace
  if (entry === 'bind') {
    return { entrance: { kind: 'doors', bindings: byPort(bindMap) }, balancing: scheduler }
  }
  return {
    entrance: {
      kind: 'transparent',
      // Node ports on loopback are served by this process, so nothing has to be routed there.
      netfilter: { ...netfilterSettings(config, node, facts), dropMartians: facts.routesLocalnet },
      nodeAddresses: nodeAddresses(situation),
    },
    balancing: scheduler,
  }
}

function byPort(bindings: readonly Binding[]): ReadonlyMap<string, readonly Listening[]> {
  const places = new Map<string, Listening[]>()
  for (const { ip, port, ...service } of bindings) {
    const key = bindingKey(service)
    places.set(key, [...(places.get(key) ?? []), { ip, port }])
  }
  return places
}
