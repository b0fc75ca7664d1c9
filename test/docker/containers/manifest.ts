import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { root } from '../../support/on-demand/root.ts'

/** What the tests take over from a container of the DaemonSet. */
export interface ManifestContainer {
  readonly image: string
  readonly securityContext: {
    readonly readOnlyRootFilesystem: boolean
    readonly allowPrivilegeEscalation: boolean
    readonly capabilities: { readonly drop: string[]; readonly add: string[] }
  }
}

/** The daemon's container in config/kubernetes/node-proxy/daemonset.yaml. */
export function daemonContainer(): ManifestContainer {
  const manifest = parse(
    readFileSync(join(root, 'config/kubernetes/node-proxy/daemonset.yaml'), 'utf8'),
  ) as {
    spec: { template: { spec: { containers: readonly ManifestContainer[] } } }
  }
  const [container] = manifest.spec.template.spec.containers
  if (container === undefined) throw new Error('the DaemonSet has no container')
  return container
}
