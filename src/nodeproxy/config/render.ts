import type { FieldPath, NodeProxyConfiguration } from './configuration.ts'
import { FIELD_ENTRIES } from './fields/index.ts'
import { originOf, put, type Settings, valueAt } from './settings.ts'

const HEAD = {
  apiVersion: 'proxy.config.orch.io/v1alpha1',
  kind: 'NodeProxyConfiguration',
}

/** The whole configuration as the object that a file would hold. It has no secrets. */
export function configurationObject(config: NodeProxyConfiguration): Record<string, unknown> {
  const tree: Record<string, unknown> = { ...HEAD }
  for (const [path, field] of FIELD_ENTRIES)
    put(tree, path, field.type.encode(valueAt(config, path)))
  return tree
}

/** The body of /configz: the effective configuration and who set each field. */
export function configzBody(config: NodeProxyConfiguration, settings: Settings): string {
  const origins: Record<string, string> = {}
  for (const [path] of FIELD_ENTRIES) origins[path] = describeOrigin(settings, path)
  return `${JSON.stringify({ config: configurationObject(config), origins }, undefined, 2)}\n`
}

/** The configuration as a file that reads back as itself. */
export async function configurationYaml(config: NodeProxyConfiguration): Promise<string> {
  const { stringify } = await import('yaml')
  return stringify(configurationObject(config), {
    defaultStringType: 'QUOTE_DOUBLE',
    defaultKeyType: 'PLAIN',
  })
}

function describeOrigin(settings: Settings, path: FieldPath): string {
  const origin = originOf(settings, path)
  if (origin.from === 'default') return 'default'
  if (origin.from === 'flag') return `flag --${origin.flag}`
  return `file ${origin.at.file}:${origin.at.line}:${origin.at.column}`
}
