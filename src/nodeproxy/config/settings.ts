import type { FieldPath, NodeProxyConfiguration } from './configuration.ts'
import { FIELD_ENTRIES } from './fields/index.ts'
import type { Position } from './problem.ts'

/** Where a value comes from. */
export type Origin =
  | { readonly from: 'default' }
  | { readonly from: 'file'; readonly at: Position }
  | { readonly from: 'flag'; readonly flag: string }

/** One value that somebody gave, checked by its field. */
export interface Setting {
  readonly value: unknown
  readonly origin: Origin
}

export type Settings = ReadonlyMap<FieldPath, Setting>

/** The whole configuration: what was given, defaults for the rest. */
export function completeConfiguration(settings: Settings): NodeProxyConfiguration {
  const tree: Record<string, unknown> = {}
  for (const [path, field] of FIELD_ENTRIES) {
    const setting = settings.get(path)
    put(tree, path, setting === undefined ? field.fallback : setting.value)
  }
  return deriveAddresses(tree as unknown as NodeProxyConfiguration, settings)
}

export function originOf(settings: Settings, path: FieldPath): Origin {
  return settings.get(path)?.origin ?? { from: 'default' }
}

/** The value at a path of a configuration. */
export function valueAt(config: NodeProxyConfiguration, path: FieldPath): unknown {
  return path
    .split('.')
    .reduce<unknown>((tree, name) => (tree as Record<string, unknown>)[name], config)
}

/** Sets `a.b.c` in a tree of plain objects, without changing those below `tree`. */
export function put(tree: Record<string, unknown>, path: string, value: unknown): void {
  const [section = '', ...rest] = path.split('.')
  if (rest.length === 0) {
    tree[section] = value
    return
  }
  const below = { ...(tree[section] as Record<string, unknown> | undefined) }
  put(below, rest.join('.'), value)
  tree[section] = below
}

/** Addresses that nobody set follow the family of bindAddress. */
function deriveAddresses(
  config: NodeProxyConfiguration,
  settings: Settings,
): NodeProxyConfiguration {
  if (!config.bindAddress.includes(':')) return config
  const { healthzBindAddress, metricsBindAddress } = config
  return {
    ...config,
    healthzBindAddress: settings.has('healthzBindAddress')
      ? healthzBindAddress
      : moveTo(healthzBindAddress, '::'),
    metricsBindAddress: settings.has('metricsBindAddress')
      ? metricsBindAddress
      : moveTo(metricsBindAddress, '::1'),
  }
}

function moveTo(address: NodeProxyConfiguration['healthzBindAddress'], ip: '::' | '::1') {
  return address && { ip: ip as typeof address.ip, port: address.port }
}
