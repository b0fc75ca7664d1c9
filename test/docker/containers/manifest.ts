import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
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

/** The container of orch-dns in config/kubernetes/dns/dns.yaml, and as whom it runs. */
export function dnsContainer(): { readonly user: string; readonly line: readonly string[] } {
  const text = readFileSync(join(root, 'config/kubernetes/dns/dns.yaml'), 'utf8')
  const found = parseAllDocuments(text)
    .map((one) => one.toJS() as Partial<DnsManifest>)
    .find(({ kind }) => kind === 'Deployment')
  const { securityContext: as, containers } = (found as DnsManifest).spec.template.spec
  const [{ command, args }] = containers
  return { user: `${as.runAsUser}:${as.runAsGroup}`, line: [...command, ...args] }
}

interface DnsManifest {
  readonly kind: string
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly securityContext: { readonly runAsUser: number; readonly runAsGroup: number }
        readonly containers: readonly [
          { readonly command: readonly string[]; readonly args: readonly string[] },
        ]
      }
    }
  }
}
