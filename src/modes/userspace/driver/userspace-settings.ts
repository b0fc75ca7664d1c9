import { netfilterSettings, nodeAddresses } from '../../netfilter/settings/netfilter-settings.ts'
import type { ModeInputs } from '../../netfilter/settings/settings.ts'
import { type BindAddress, bindingKey, type UserspaceSettings } from '../settings.ts'
import type { Binding, UserspaceConfiguration } from './configuration.ts'
import type { UserspaceRuntime } from './userspace-runtime.ts'

/** The settings of the userspace mode, from configuration, Node object, kernel and interfaces. */
export function userspaceSettings(
  inputs: ModeInputs<UserspaceConfiguration>,
  entry: UserspaceRuntime['entry'],
): UserspaceSettings {
  const { config, facts } = inputs
  const { bindMap, scheduler } = config.userspace
  if (entry === 'bind') {
    return { listening: { kind: 'bound', bindings: byPort(bindMap) }, balancing: scheduler }
  }
  return {
    listening: {
      kind: 'transparent',
      // Node ports on loopback are served by this process, so nothing has to be routed there.
      netfilter: { ...netfilterSettings(inputs), dropMartians: facts.routesLocalnet },
      nodeAddresses: nodeAddresses(inputs),
    },
    balancing: scheduler,
  }
}

function byPort(bindings: readonly Binding[]): ReadonlyMap<string, readonly BindAddress[]> {
  const addresses = new Map<string, BindAddress[]>()
  for (const { ip, port, ...service } of bindings) {
    const key = bindingKey(service)
    addresses.set(key, [...(addresses.get(key) ?? []), { ip, port }])
  }
  return addresses
}
