import { type ApiObject, service, slice } from '../lab/objects.ts'
import { namespaceLabels, podLabels } from './evaluate.ts'
import type { Policy, PolicySet } from './policy-set.ts'
import {
  FAMILIES,
  NAMESPACES,
  nodeOf,
  PODS,
  PORTS,
  PROTOCOLS,
  SERVICE_PORT_OFFSET,
  type TestPod,
} from './universe.ts'

/** The objects that differ between policy sets. */
export function objectsOf(set: PolicySet): readonly ApiObject[] {
  const namespaces = Object.keys(NAMESPACES).map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels: namespaceLabels(set, name) },
  }))
  const pods = PODS.map((pod) => podObject(pod, podLabels(set, pod)))
  return [...namespaces, ...pods, ...set.policies.map(policyObject)]
}

function policyObject({ metadata, spec }: Policy): ApiObject {
  return { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata, spec }
}

function podObject(pod: TestPod, labels: Readonly<Record<string, string>>): ApiObject {
  const { namespace, name, ips, namedPorts } = pod
  const ports = namedPorts.map(({ port, ...named }) => ({ ...named, containerPort: port }))
  // A number is declared once for each container.
  const isService = (one: { readonly name: string }) => one.name.startsWith('serve-')
  const image = 'registry.example/server:1'
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace, labels },
    spec: {
      nodeName: nodeOf(pod),
      containers: [
        { name: 'server', image, ports: ports.filter(isService) },
        { name: 'more', image, ports: ports.filter((one) => !isService(one)) },
      ],
    },
    status: {
      phase: 'Running',
      podIP: ips[4],
      podIPs: FAMILIES.map((family) => ({ ip: ips[family] })),
    },
  }
}

/** A Service for each Pod, with all its ports. */
export function serviceObjects(): readonly ApiObject[] {
  return PODS.flatMap((pod) => {
    const { key, ips, serviceIps } = pod
    const ports = PROTOCOLS.flatMap((protocol) =>
      PORTS.map((port) => ({ name: `${protocol.toLowerCase()}-${port}`, protocol, port })),
    )
    const clusterIPs = FAMILIES.map((family) => serviceIps[family])
    const shown = ports.map(({ port, ...rest }) => ({
      ...rest,
      port: port + SERVICE_PORT_OFFSET,
      targetPort: port,
    }))
    return [
      service(key, {
        clusterIP: serviceIps[4],
        clusterIPs,
        ipFamilies: ['IPv4', 'IPv6'],
        ports: shown,
      }),
      ...FAMILIES.map((family) =>
        slice(key, [{ ip: ips[family], node: nodeOf(pod) }], { ports, suffix: `v${family}` }),
      ),
    ]
  })
}
